"""`manage.py demo`: something to start with, made once."""

import os
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from images.models import Image
from jobs.services import job_estimate
from jobs.spec import JobSpec, MountSpec
from pools.models import Flavor, Grant, Node, Pool, WorkerSpec, Zone
from storage.models import FileSystem, Volume, VolumeGrant
from teams.models import Membership, Team, User

pytestmark = pytest.mark.django_db
MODELS = (
    *(User, Team, Membership, Zone, Pool, Grant, Flavor, WorkerSpec, Node),
    *(FileSystem, Volume, VolumeGrant, Image),
)


@pytest.fixture
def data_dir(settings, tmp_path):
    settings.DATA_DIR = tmp_path
    return tmp_path


def demo() -> str:
    out = StringIO()
    call_command("demo", stdout=out)
    return out.getvalue()


def counts():
    return [model._default_manager.count() for model in MODELS]


def test_demo_makes_a_console_to_start_with(data_dir, client):
    demo()
    teams = {u.username: [m.team.name for m in u.memberships.all()] for u in User.objects.all()}
    assert teams["admin"] == teams["alice"] == teams["bob"] != teams["carol"]
    assert [u.username for u in User.objects.filter(is_superuser=True)] == ["admin"]
    assert User.objects.get(username="bob").check_password("demo")
    assert list(WorkerSpec.objects.values_list("gpus", flat=True)) == [1, 2, 4, 8]
    assert Flavor.objects.get().idle_nodes == [0] * 8 + [4]
    out = StringIO()
    call_command("recount", stdout=out)
    assert out.getvalue() == "all counts are right\n"


@pytest.mark.parametrize(("name", "volume"), [("alice", "team-volume"), ("carol", "speech-volume")])
def test_both_teams_can_submit_the_example(data_dir, name, volume):
    demo()
    user = User.objects.get(username=name)
    spec = JobSpec(
        team=user.memberships.get().team_id,
        pool=Pool.objects.for_user(user).get().pk,
        image=Image.objects.get().pk,
        spec=WorkerSpec.objects.get(gpus=1).pk,
        worker_count=2,
        framework="pytorch_ddp",
        command="sh /mnt/public/digits/run.sh",
        name="digits",
        public_data=True,
        mounts=(MountSpec(Volume.objects.for_user(user).get(name=volume).pk, "/mnt/public"),),
    )
    judged = job_estimate(user=user, spec=spec)
    assert not judged.errors
    assert judged.starts_now


def test_again_changes_nothing(data_dir):
    demo()
    before = counts()
    assert demo() == "the demo is complete\n"
    assert counts() == before


def test_what_people_changed_stays(data_dir):
    demo()
    before = counts()
    for model, field in ((Zone, "name"), (Pool, "name"), (FileSystem, "name"), (Flavor, "name")):
        model.objects.update(**{field: "renamed"})
    Team.objects.filter(name__startswith="Vision").update(name="renamed")
    alice = User.objects.get(username="alice")
    alice.set_password("another")
    alice.save()
    Grant.objects.filter(team__name="renamed").update(max_gpus=3)
    Node.objects.filter(name="local-4").update(name="renamed")
    demo()
    assert counts() == before
    assert User.objects.get(username="alice").check_password("another")
    assert Grant.objects.get(team__name="renamed").max_gpus == 3


def test_what_people_took_away_stays_away(data_dir):
    demo()
    Membership.objects.filter(user__username="bob").delete()
    VolumeGrant.objects.all().delete()
    WorkerSpec.objects.filter(gpus=8).delete()
    before = counts()
    demo()
    assert counts() == before


def test_refused_without_demo(settings, data_dir):
    settings.DEMO = False
    with pytest.raises(CommandError, match="DEMO=0"):
        demo()
    assert not User.objects.exists()


class TestExample:
    @pytest.fixture
    def digits(self, data_dir):
        demo()
        return data_dir / "volumes" / "public" / "digits"

    def test_is_complete(self, digits, data_dir):
        names = ["README.md", "allreduce.py", "digits.csv", "run.sh", "train.py"]
        assert sorted(os.listdir(digits)) == names
        assert (data_dir / "public" / "demo" / "digits.csv").stat().st_size > 10_000

    def test_edited_file_stays_and_missing_one_comes_back(self, digits):
        (digits / "train.py").write_text("mine")
        (digits / "run.sh").unlink()
        demo()
        assert (digits / "train.py").read_text() == "mine"
        assert (digits / "run.sh").exists()

    def test_our_own_older_copy_is_renewed(self, digits, settings, monkeypatch, tmp_path_factory):
        newer = tmp_path_factory.mktemp("release")
        (newer / "examples" / "digits").mkdir(parents=True)
        for file in digits.iterdir():
            (newer / "examples" / "digits" / file.name).write_bytes(file.read_bytes() + b"\n# newer\n")
        (digits / "train.py").write_text("mine")
        settings.BASE_DIR = newer
        demo()
        assert (digits / "run.sh").read_text().endswith("# newer\n")
        assert (digits / "train.py").read_text() == "mine"

    @pytest.mark.parametrize("where", ["file", "folder"])
    def test_no_link_is_followed(self, digits, data_dir, where):
        own = data_dir / "own"
        if where == "file":
            own.write_text("the console's")
            (digits / "run.sh").unlink()
            (digits / "run.sh").symlink_to(own)
            demo()
            assert own.read_text() == "the console's"
        else:
            own.mkdir()
            digits.rename(data_dir / "aside")
            digits.symlink_to(own)
            demo()
            assert list(own.iterdir()) == []

    def test_pipe_in_the_place_of_a_file_stops_nothing(self, digits):
        (digits / "run.sh").unlink()
        os.mkfifo(digits / "run.sh")
        demo()
        assert (digits / "run.sh").is_fifo()
