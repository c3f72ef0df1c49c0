"""The path check on a real engine with real folders: what it finds, makes and survives."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings as console_settings
from django.db import connection
from django.utils import timezone

from engines.base import AttemptKey, EngineError
from engines.local.engine import LocalEngine
from engines.local.sandbox import choose
from jobs.spec import EnvVar, MountSpec
from pools.models import Hold
from runs.models import PathCheck
from runs.path_check import attending, script
from runs.path_check.services import (
    MOST_A_MINUTE,
    CheckRefused,
    TooManyChecks,
    path_check_create,
)
from runs.path_check.texts import check_reason_text
from runs.path_check.values import Kind, PathSeen, Result, ScriptState
from runs.tasks import engine_path_check, engine_path_checks
from tests.engines.stand import nap, processes, wait_until
from tests.factories import make_image, make_pool, make_spec, make_team, make_user, make_volume, make_zone

pytestmark = pytest.mark.django_db

ODD_NAMES = (
    "with blanks  two",
    'it\'s "quoted"',
    "$(touch pwned)`touch pwned`",
    "$HOME;&|*?[a]",
    "new\nline",
    "ends with\n",
    "-n",
    "汉字 é",
    "\\back\\slash",
)


class Scene:
    """Somebody with a pool, a volume to write and one to read, and an engine that does what is due."""

    def __init__(self, engine: LocalEngine, at: str) -> None:
        self.engine, self.at = engine, at
        self.team = make_team()
        self.user = make_user(self.team)
        zone = make_zone(public_data=str(console_settings.DATA_DIR / "public" / "some"))
        Path(zone.public_data).mkdir(parents=True, exist_ok=True)
        self.pool = make_pool(self.team, zone=zone)
        make_image(zone, reference="host")
        self.volume = make_volume(zone, self.team)
        self.library = make_volume(zone, self.team, read_only=True)
        self.folder, self.read_only_folder = Path(self.volume.path), Path(self.library.path)

    def spec(self, **fields):
        mounts = (MountSpec(self.volume.pk, f"{self.at}/data"), MountSpec(self.library.pk, f"{self.at}/lib"))
        return make_spec(self.pool, **{"team": self.team.pk, "mounts": mounts} | fields)

    def ask(self, *paths: str, create=(), **fields) -> PathCheck:
        """A check of these paths, or of those of the request where none are given."""
        return path_check_create(
            user=self.user, spec=self.spec(**fields), paths=list(paths) or None, create=create
        )

    def done(self, check: PathCheck) -> PathCheck:
        """The check once the tick has brought it to its end."""

        def ended() -> bool:
            engine_path_checks()
            check.refresh_from_db()
            return check.finished and check.settled

        wait_until(ended, f"end of {check.key}")
        return check

    def result(self, check: PathCheck) -> Result:
        self.done(check)
        assert check.state == "done", check.reason
        return Result.from_json(check.result)

    def look(self, *paths: str, **fields) -> dict[str, PathSeen]:
        return {path.path: path for path in self.result(self.ask(*paths, **fields)).paths}


def make_scene(monkeypatch, tmp_path, mode: str) -> Scene:
    choice = choose(mode)
    if not choice.mode:
        pytest.skip(choice.reason)
    places = [console_settings.DATA_DIR / name for name in ("volumes", "public")]
    engine = LocalEngine(tmp_path / "runs", mode, shareable=places)
    monkeypatch.setattr(attending, "engine_of", lambda kind: engine)
    at = Path(f"/mnt/check-{os.getpid()}-{mode}")
    yield Scene(engine, str(at))
    if at.exists():  # without a sandbox, mounts are links on this machine
        at.rmdir()


@pytest.fixture
def scene(monkeypatch, tmp_path):
    """Where jobs are kept apart: only there are rights those that a job has."""
    yield from make_scene(monkeypatch, tmp_path, "bubblewrap")


@pytest.fixture(params=["bubblewrap", "none", pytest.param("proot", marks=pytest.mark.slow)])
def any_scene(request, monkeypatch, tmp_path):
    yield from make_scene(monkeypatch, tmp_path, request.param)


def rights(path: PathSeen) -> str:
    given = ("r", path.readable), ("w", path.writable), ("x", path.executable)
    return "".join(sign if has else "-" for sign, has in given)


class TestWhatIsThere:
    def test_folders_files_links_and_what_is_missing(self, any_scene):
        scene, data, lib = any_scene, f"{any_scene.at}/data", f"{any_scene.at}/lib"
        (scene.folder / "train.sh").write_text("true")
        (scene.folder / "train.sh").chmod(0o755)
        os.mkfifo(scene.folder / "pipe")
        os.symlink("train.sh", scene.folder / "link")
        os.symlink("/nowhere-at-all", scene.folder / "broken")
        os.symlink("/tmp", scene.folder / "away")
        (scene.read_only_folder / "set.bin").write_text("x")
        names = ("train.sh", "pipe", "link", "broken", "away", "missing/deep", "train.sh/x", "broken/x")
        seen = scene.look(data, lib, f"{lib}/set.bin", "/usr/bin/env", *(f"{data}/{name}" for name in names))
        found = {path: (str(s.kind), s.mount) for path, s in seen.items()}
        assert found == {
            data: ("folder", 0),
            lib: ("folder", 1),
            f"{lib}/set.bin": ("file", 1),
            "/usr/bin/env": ("file", None),
            f"{data}/train.sh": ("file", 0),
            f"{data}/pipe": ("other", 0),
            f"{data}/link": ("file", 0),
            f"{data}/broken": ("broken_link", 0),
            f"{data}/away": ("folder", None),
            f"{data}/missing/deep": ("missing", 0),
            f"{data}/train.sh/x": ("missing", 0),
            f"{data}/broken/x": ("broken_link", 0),
        }
        assert rights(seen[data]) == rights(seen[f"{data}/train.sh"]) == "rwx"
        assert not seen[lib].writable
        assert not seen[f"{lib}/set.bin"].writable
        missing = seen[f"{data}/missing/deep"]
        assert (missing.parent, missing.creatable) == (data, True)
        assert not seen[f"{data}/train.sh/x"].creatable

    def test_names_mean_nothing_to_the_shell(self, any_scene):
        scene = any_scene
        for name in ODD_NAMES:
            (scene.folder / name).mkdir()
        seen = scene.look(*(f"{scene.at}/data/{name}" for name in ODD_NAMES))
        assert {path.removeprefix(f"{scene.at}/data/") for path in seen} == set(ODD_NAMES)
        assert {(s.kind, s.mount, rights(s)) for s in seen.values()} == {(Kind.FOLDER, 0, "rwx")}
        assert sorted(os.listdir(scene.folder)) == sorted(ODD_NAMES)
        assert not list(Path.cwd().glob("pwned"))

    def test_what_the_job_may_not_do(self, scene):
        closed, half = scene.folder / "closed", scene.folder / "half"
        for folder, mode in ((closed, 0), (half, 0o555)):
            folder.mkdir()
            folder.chmod(mode)
        data, lib = f"{scene.at}/data", f"{scene.at}/lib"
        seen = scene.look(
            f"{data}/closed", f"{data}/closed/in", f"{data}/half", f"{data}/half/new", f"{lib}/new"
        )
        assert rights(seen[f"{data}/closed"]) == "---"
        assert (seen[f"{data}/closed/in"].kind, seen[f"{data}/closed/in"].parent) == (
            Kind.HIDDEN,
            f"{data}/closed",
        )
        assert rights(seen[f"{data}/half"]) == "r-x"
        assert [seen[path].creatable for path in (f"{data}/half/new", f"{lib}/new")] == [False, False]

    def test_the_paths_of_the_request_with_where_they_are_named(self, scene):
        at = scene.at
        (scene.folder / "in").mkdir()
        check = scene.ask(
            command=f"cd {at}/data/in\npython train.py --data $DATA --out {at}/data/out",
            env=[EnvVar("DATA", f"{at}/data/in"), EnvVar("KEY", f"{at}/data/secret", private=True)],
            public_data=True,
        )
        seen = {path.path: path for path in scene.result(check).paths}
        assert seen[f"{at}/data"].origins == ("mounts",)
        assert seen["/infini-data"].mount == 2
        assert set(seen[f"{at}/data/in"].origins) == {"command", "env.DATA"}
        assert seen[f"{at}/data/out"].kind is Kind.MISSING
        assert "secret" not in repr((check.asked, check.frozen, check.result))

    def test_a_path_that_hangs_keeps_no_other_waiting(self, scene, monkeypatch, settings):
        settings.PATH_CHECK_SECONDS = 4.0
        stuck = f"[[ $path == */stuck ]] && sleep {nap()}"
        monkeypatch.setattr(
            script, "COMMAND", script.COMMAND.replace('nearest "$path"\n', f'nearest "$path"; {stuck}\n')
        )
        seen = scene.look(f"{scene.at}/data/stuck", f"{scene.at}/data")
        assert [str(path.kind) for path in seen.values()] == ["no_answer", "folder"]


class TestMakingFolders:
    def test_just_those_that_were_chosen(self, any_scene):
        data = f"{any_scene.at}/data"
        made = (f"{data}/out/run 1/汉", f"{data}/$(touch x)")
        seen = any_scene.look(f"{data}/out", f"{data}/other", create=made)
        assert [str(seen[path].created) for path in made] == ["made", "made"]
        assert [seen[path].kind for path in (*made, f"{data}/out")] == [Kind.FOLDER] * 3
        assert (seen[f"{data}/other"].kind, seen[f"{data}/other"].created) == (Kind.MISSING, None)
        assert sorted(os.listdir(any_scene.folder)) == ["$(touch x)", "out"]

    def test_a_link_does_not_lead_off_the_volume(self, scene):
        os.symlink("/tmp", scene.folder / "away")
        path = f"{scene.at}/data/away/new"
        assert str(scene.look(create=[path])[path].created) == "refused"

    def test_where_the_job_may_not_write(self, scene):
        (scene.folder / "half").mkdir(mode=0o555)
        (scene.folder / "file").write_text("")
        paths = [f"{scene.at}/data/half/new", f"{scene.at}/data/file/new"]
        assert {str(scene.look(create=paths)[path].created) for path in paths} == {"failed"}

    @pytest.mark.parametrize("path", ["lib/new", "../tmp/new", "data/../lib/new", "elsewhere"])
    def test_not_elsewhere(self, scene, path):
        with pytest.raises(CheckRefused) as refused:
            scene.ask(create=[f"{scene.at}/{path}"])
        assert [f.code for f in refused.value.findings] == ["create_not_on_volume"]
        assert not PathCheck.objects.exists()


class TestScripts:
    @pytest.mark.parametrize("name", ["scripts/train.sh", "/data/scripts/train.sh"])
    def test_one_that_hides_an_exit_code(self, scene, name):
        (scene.folder / "scripts").mkdir()
        (scene.folder / "scripts/train.sh").write_text("cd /mnt\npython train.py | tee log\n")
        called = name if name.startswith("scripts") else scene.at + name
        check = scene.ask(command=f"cd {scene.at}/data\nbash {called}")
        (seen,) = scene.result(check).scripts
        assert (seen.state, seen.path) == (ScriptState.READ, f"{scene.at}/data/scripts/train.sh")
        assert seen.findings
        assert seen.findings[0]["data"]["line"] == 2
        assert seen.findings[0]["data"]["script"] == seen.path

    def test_one_that_does_not(self, scene):
        (scene.folder / "train.sh").write_text("set -euo pipefail\npython train.py | tee log\n")
        (seen,) = scene.result(scene.ask(command=f"bash {scene.at}/data/train.sh")).scripts
        assert (seen.state, seen.findings) == (ScriptState.READ, ())

    def test_those_that_are_not_read(self, scene):
        (scene.folder / "long.sh").write_text("true\n" * 4000)
        (scene.folder / "folder.sh").mkdir()
        (scene.folder / "closed.sh").write_text("true | true")
        (scene.folder / "closed.sh").chmod(0)
        data = f"{scene.at}/data"
        names = [f"{data}/{name}.sh" for name in ("long", "folder", "closed", "none")] + ["/usr/bin/env"]
        check = scene.ask(command="\n".join(f"bash {name}" for name in names))
        states = {script.path: str(script.state) for script in scene.result(check).scripts}
        expected = ("too_long", "no_file", "unreadable", "missing", "elsewhere")
        assert states == dict(zip(names, expected, strict=True))

    def test_any_bytes(self, scene):
        (scene.folder / "odd.sh").write_bytes(b"\xff\0\n" + bytes(range(256)) + b"\nend\np 0 folder\n")
        check = scene.ask(
            f"{scene.at}/data/none", command=f"bash {scene.at}/data/odd.sh; bash {scene.at}/data/b.sh"
        )
        result = scene.result(check)
        assert [str(s.state) for s in result.scripts] == ["read", "missing"]
        assert result.paths[0].kind is Kind.MISSING


class TestItsLife:
    def test_it_holds_no_gpu_and_leaves_nothing_with_the_engine(self, scene):
        check = scene.ask()
        launch = attending.launch_of(check)
        assert [worker.gpus for worker in launch.workers] == [()]
        scene.done(check)
        assert not Hold.objects.exists()
        PathCheck.objects.update(kept_until=timezone.now())
        engine_path_checks()
        assert not PathCheck.objects.exists()
        assert not scene.engine.look([AttemptKey(check.key, 1)])[AttemptKey(check.key, 1)]
        assert not list(Path(scene.engine._root).glob("pc-*"))

    def test_the_hint_alone_begins_it(self, scene):
        check = scene.ask()
        engine_path_check(check.pk)
        check.refresh_from_db()
        assert check.state == "running"
        scene.result(check)

    def test_a_worker_that_dies_after_the_start_is_taken_over(self, scene):
        check = scene.ask(create=[f"{scene.at}/data/new"])
        scene.engine.start(attending.launch_of(check))
        assert str(scene.result(check).paths[-1].created) == "made"

    def test_a_worker_that_dies_before_it_reads_the_answer(self, scene, monkeypatch):
        check = scene.ask()
        with monkeypatch.context() as dying:
            dying.setattr(attending, "_answer", lambda engine, check: 1 / 0)
            engine_path_checks()
            key = AttemptKey(check.key, 1)
            wait_until(lambda: str(scene.engine.look([key])[key][0].phase) == "exited", "its end")
            engine_path_checks()
        check.refresh_from_db()
        assert check.state == "running"
        scene.result(check)

    def test_one_that_takes_too_long_is_ended(self, scene, monkeypatch, settings):
        settings.PATH_CHECK_SECONDS = 1.0
        mine = nap()
        monkeypatch.setattr(script, "COMMAND", f"trap '' TERM; sleep {mine}; sleep {mine}")
        check = scene.done(scene.ask())
        assert (check.state, check.reason["code"]) == ("failed", "too_slow")
        assert not processes(f"sleep {mine}")

    @pytest.mark.parametrize(
        "command", ["exit 3", "kill -9 $$", "echo nonsense", "true", "echo 'p 0'; echo end"]
    )
    def test_one_that_breaks_off(self, scene, monkeypatch, command):
        monkeypatch.setattr(script, "COMMAND", command)
        assert scene.done(scene.ask()).state == "failed"

    def test_a_volume_whose_folder_is_gone(self, scene):
        scene.folder.rmdir()
        check = scene.done(scene.ask())
        assert (check.state, check.reason["code"]) == ("failed", "mount_missing")
        assert check.reason["data"]["path"] == f"{scene.at}/data"

    def test_a_volume_that_is_a_file(self, scene):
        scene.folder.rmdir()
        scene.folder.write_text("x")
        check = scene.done(scene.ask())
        assert (check.state, check.reason["code"]) == ("failed", "mount_no_folder")
        assert "is a file, not a folder" in check_reason_text(check.reason["code"], check.reason["data"])

    def test_an_engine_that_cannot_start_it_is_asked_for_a_while(self, scene, monkeypatch):
        def refuse(launch):
            raise EngineError("no space left")

        check = scene.ask()
        with monkeypatch.context() as full:
            full.setattr(scene.engine, "start", refuse)
            engine_path_checks()
            check.refresh_from_db()
            assert check.state == "pending"
            PathCheck.objects.update(created_at=timezone.now() - timedelta(minutes=1))
            engine_path_checks()
        scene.done(check)
        assert (check.state, check.reason["code"]) == ("failed", "engine_unavailable")

    def test_what_the_engine_cannot_forget_yet_stays(self, scene, monkeypatch):
        def refuse(key):
            raise EngineError("it still runs")

        check = scene.done(scene.ask())
        PathCheck.objects.update(kept_until=timezone.now())
        with monkeypatch.context() as busy:
            busy.setattr(scene.engine, "forget", refuse)
            engine_path_checks()
        check.refresh_from_db()
        assert check.kept_until > timezone.now()

    def test_nothing_due_costs_one_query(self, scene, django_assert_num_queries):
        scene.done(scene.ask())
        with django_assert_num_queries(1):
            engine_path_checks()


class TestBounds:
    def test_a_second_one_takes_the_place_of_the_first(self, scene, monkeypatch):
        mine = nap()
        with monkeypatch.context() as slow:
            slow.setattr(script, "COMMAND", f"sleep {mine}")
            first = scene.ask()
            engine_path_checks()
        wait_until(lambda: bool(processes(f"sleep {mine}")), "it runs")
        scene.result(scene.ask())
        scene.done(first)
        assert (first.state, first.reason["code"]) == ("failed", "replaced")
        assert not processes(f"sleep {mine}")

    def test_others_are_not_touched(self, scene):
        theirs = path_check_create(user=make_user(scene.team), spec=scene.spec())
        scene.ask()
        theirs.refresh_from_db()
        assert theirs.state == "pending"

    def test_few_are_kept(self, scene):
        checks = [scene.ask() for _ in range(5)]
        late = timezone.now() + timedelta(minutes=2)
        kept = PathCheck.objects.filter(kept_until__gt=late)
        assert set(kept.values_list("pk", flat=True)) == {check.pk for check in checks[-3:]}

    def test_not_without_end(self, scene):
        for _ in range(MOST_A_MINUTE):
            scene.ask()
        with pytest.raises(TooManyChecks):
            scene.ask()

    @pytest.mark.parametrize(
        ("paths", "codes"),
        [
            (["relative/path"], ["path_not_proper"]),
            (["/a\0b"], ["path_not_proper"]),
            (["/" + "x" * 4095], ["path_not_proper"]),
            (["/\ud800"], ["path_not_proper"]),
            ([f"/p{n}" for n in range(65)], ["too_many"]),
        ],
    )
    def test_paths_that_are_none(self, scene, paths, codes):
        with pytest.raises(CheckRefused) as refused:
            scene.ask(*paths)
        assert [f.code for f in refused.value.findings] == codes

    def test_the_longest_paths_and_the_most_of_them(self, scene):
        paths = [f"{scene.at}/data/{n}/" + "/".join(["x" * 200] * 20)[:4000] for n in range(64)]
        assert {str(path.kind) for path in scene.look(*paths).values()} == {"missing"}

    def test_more_paths_than_are_looked_at(self, scene):
        check = scene.ask(command="\n".join(f"cat /p/{n}" for n in range(80)))
        assert (len(check.asked["paths"]), check.asked["left_out"]) == (64, 18)

    @pytest.mark.parametrize(
        ("fields", "field"),
        [
            ({"image": 10**9}, "image"),
            ({"mounts": (MountSpec(10**9, "/mnt/x"),)}, "mounts.0.volume"),
            ({"team": 10**9}, "team"),
        ],
    )
    def test_only_what_the_person_may_use(self, scene, fields, field):
        with pytest.raises(CheckRefused) as refused:
            scene.ask(**fields)
        assert field in [f.field for f in refused.value.findings]
        assert not PathCheck.objects.exists()

    def test_nothing_to_look_at(self, scene):
        with pytest.raises(CheckRefused) as refused:
            scene.ask(mounts=(), command="echo hello")
        assert [f.code for f in refused.value.findings] == ["no_paths"]


@pytest.mark.skipif(connection.vendor != "sqlite", reason="others scan a table as small as this")
def test_what_is_due_is_found_by_indexes():
    plan = PathCheck.objects.due(timezone.now()).order_by().explain()
    assert [name for name in ("path_check_unsettled", "path_check_kept_until") if name not in plan] == [], (
        plan
    )
