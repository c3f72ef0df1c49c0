"""What every engine promises of the files that a Worker leaves behind. See `contract`."""

from __future__ import annotations

import os

import pytest

from engines.base import AttemptKey, EngineError, EntryKind, NotKept, Phase
from tests.engines.stand import nap, wait_until

WRITES = r"""
umask 022
echo "the answer" > {workspace}/a.txt
mkdir {workspace}/deep {workspace}/shut
printf '\x00\x01\xff' > {tmp}/b
ln -s /etc/passwd {workspace}/link
ln -s / {workspace}/rootlink
mkfifo {workspace}/pipe
echo odd > {workspace}/$'caf\xe9'
echo '<script>' > {workspace}/deep/page.html
"""


def writes(stand) -> str:
    """The same files in each mode: without a box, the Worker has no `/` of its own."""
    places = {"workspace": "$PWD", "tmp": "$TMPDIR"} if stand.mode == "none" else {}
    return WRITES.format(**{"workspace": "/workspace", "tmp": "/tmp"} | places)


def names(stand, key, path=b"", first=0, limit=100):
    return [entry.name for entry in stand.engine.kept_folder(key, 0, path, first, limit).entries]


class KeepingContract:
    """See the module."""

    @pytest.fixture
    def failed(self, stand):
        key = stand.start(writes(stand) + "exit 3", keep=True)
        look = stand.end(key)
        assert (look.phase, look.exit_code) == (Phase.EXITED, 3)
        return key

    def test_only_what_the_worker_wrote_is_shown(self, stand, failed):
        assert names(stand, failed) == [b"tmp", b"workspace"]
        assert names(stand, failed, b"/tmp") == [b"b"]
        folder = stand.engine.kept_folder(failed, 0, b"workspace", 0, 100)
        assert (folder.total, folder.more) == (7, False)
        kinds = {entry.name: (entry.kind, entry.size, entry.target) for entry in folder.entries}
        assert list(kinds)[:2] == [b"deep", b"shut"]
        assert kinds == {
            b"deep": (EntryKind.FOLDER, 0, b""),
            b"shut": (EntryKind.FOLDER, 0, b""),
            b"a.txt": (EntryKind.FILE, 11, b""),
            b"caf\xe9": (EntryKind.FILE, 4, b""),
            b"link": (EntryKind.LINK, 0, b"/etc/passwd"),
            b"pipe": (EntryKind.OTHER, 0, b""),
            b"rootlink": (EntryKind.LINK, 0, b"/"),
        }

    def test_bytes_from_any_on(self, stand, failed):
        read = stand.engine.kept_bytes
        assert read(failed, 0, b"/tmp/b", 0, 99).data == b"\0\1\xff"
        part = read(failed, 0, b"workspace/a.txt", 4, 3)
        assert (part.data, part.offset, part.size) == (b"ans", 4, 11)
        assert read(failed, 0, b"workspace/a.txt", 99, 3).data == b""
        assert read(failed, 0, b"/workspace/caf\xe9", 0, 99).data == b"odd\n"

    @pytest.mark.parametrize(
        "path",
        [
            *(b"workspace/link", b"workspace/rootlink", b"workspace/rootlink/etc/passwd", b"workspace/pipe"),
            *(b"..", b"workspace/../../../lock", b"./workspace", b"workspace/a.txt/x", b"nothing", b"a\0b"),
            *(b"workspace/" + b"n" * 300, b"x/" * 3000),
        ],
    )
    def test_no_way_leads_out(self, stand, failed, path):
        with pytest.raises(NotKept):
            stand.engine.kept_bytes(failed, 0, path, 0, 9)
        with pytest.raises(NotKept):
            stand.engine.kept_folder(failed, 0, path, 0, 9)

    def test_a_folder_is_no_file_and_a_file_no_folder(self, stand, failed):
        with pytest.raises(NotKept):
            stand.engine.kept_bytes(failed, 0, b"workspace", 0, 9)
        with pytest.raises(NotKept):
            stand.engine.kept_folder(failed, 0, b"workspace/a.txt", 0, 9)

    def test_dropped_is_gone_and_the_log_stays(self, stand, failed):
        assert stand.engine.drop(failed) is True
        assert stand.engine.drop(failed) is True
        with pytest.raises(NotKept):
            stand.engine.kept_folder(failed, 0, b"", 0, 9)
        assert stand.engine.read_log(failed, 0, 0, 9).complete
        assert stand.look(failed).exit_code == 3

    def test_nothing_is_kept_unasked(self, stand):
        key = stand.start(writes(stand) + "exit 3")
        stand.end(key)
        with pytest.raises(NotKept):
            stand.engine.kept_folder(key, 0, b"", 0, 9)
        assert stand.engine.drop(key) is True

    def test_what_lives_is_not_dropped(self, stand):
        key = stand.start(f"echo up; sleep {nap()}", keep=True)
        stand.running(key, "up")
        with pytest.raises(EngineError):
            stand.engine.drop(key)
        stand.engine.stop(key, 0)
        stand.end(key)
        wait_until(lambda: stand.engine.drop(key), "dropped")
        with pytest.raises(NotKept):
            stand.engine.kept_folder(key, 0, b"", 0, 9)

    def test_a_large_folder_is_read_in_parts(self, stand):
        workspace = "$PWD" if stand.mode == "none" else "/workspace"
        command = f"mkdir {workspace}/many; cd {workspace}/many; touch $(seq -w 10000); false"
        key = stand.start(command, keep=True)
        stand.end(key)
        folder = stand.engine.kept_folder(key, 0, b"workspace/many", 9_998, 5)
        assert ([entry.name for entry in folder.entries], folder.total) == ([b"09999", b"10000"], 10_000)
        assert names(stand, key, b"workspace/many", 0, 2) == [b"00001", b"00002"]

    def test_a_folder_deeper_than_a_path(self, stand):
        step, steps = "d" * 200, 15 if stand.mode == "proot" else 30  # which gets no deeper than a path
        workspace = "$PWD" if stand.mode == "none" else "/workspace"
        go_down = f"for _ in $(seq {steps}); do mkdir {step} && cd {step}; done"
        key = stand.start(f"cd {workspace}; {go_down}; echo x > end; false", keep=True)
        look = stand.end(key)
        assert look.exit_code == 1, stand.log()
        path = b"workspace/" + os.fsencode(f"{step}/") * steps
        assert stand.engine.kept_bytes(key, 0, path + b"end", 0, 9).data == b"x\n"
        assert stand.engine.drop(key)

    def test_of_an_unknown_attempt_nothing_is_kept(self, stand):
        key = AttemptKey("jo-" + "0" * 16, 1)
        with pytest.raises(NotKept):
            stand.engine.kept_folder(key, 0, b"", 0, 9)
        assert stand.engine.drop(key) is True

    def test_names_are_no_paths_here_either(self, stand):
        for key, rank in ((AttemptKey("../etc", 1), 0), (AttemptKey("jo-" + "0" * 16, 1), -1)):
            with pytest.raises(EngineError):
                stand.engine.kept_folder(key, rank, b"", 0, 9)
