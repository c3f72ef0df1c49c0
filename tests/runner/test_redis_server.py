import os
import shutil
import signal
import stat

import pytest

from console.runner import redis_server
from console.runner.config import Config, Refusal
from console.runner.supervisor import Backoff
from tests.runner.conftest import wait_for


def has_server():
    try:
        return bool(redis_server.find_server())
    except Refusal:
        return False


needs_server = pytest.mark.skipif(not has_server(), reason="no Redis server is installed")


def config(data_dir):
    data_dir.mkdir(parents=True, exist_ok=True)
    return Config(port=8000, data_dir=data_dir, redis_url="", demo=False)


def socket_of(url):
    from_root = url.removeprefix("unix://")
    return redis_server.Path(from_root)


@needs_server
def test_it_answers_on_a_socket_for_its_owner_only(supervisor, tmp_path):
    path = socket_of(redis_server.start(supervisor, config(tmp_path / "var"), os.environ))
    assert redis_server.answers(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o700
    assert (tmp_path / "var" / "redis" / "appendonlydir").is_dir()


@needs_server
def test_messages_outlive_a_restart(supervisor, tmp_path, shell):
    path = socket_of(redis_server.start(supervisor, config(tmp_path / "var"), os.environ))
    ask(path, b"LPUSH state hint\r\n")
    supervisor.stop()
    path = socket_of(redis_server.start(supervisor, config(tmp_path / "var"), os.environ))
    assert ask(path, b"LLEN state\r\n") == b":1\r\n"


@needs_server
@pytest.mark.parametrize("killed", [True, False])
def test_it_comes_back_after_its_folder_was_deleted(supervisor, tmp_path, killed):
    supervisor.backoff = Backoff(first=0.05, longest=0.2, steady=5.0, reachable=0.5)
    path = socket_of(redis_server.start(supervisor, config(tmp_path / "var"), os.environ))
    if killed:
        os.kill(supervisor.pids()["redis"], signal.SIGKILL)
    shutil.rmtree(tmp_path / "var" / "redis")

    def is_back():
        supervisor.tick()
        return redis_server.answers(path)

    wait_for(is_back)
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@needs_server
def test_a_store_that_cannot_be_read_is_put_aside(supervisor, tmp_path, said):
    store = tmp_path / "var" / "redis" / "appendonlydir"
    store.mkdir(parents=True)
    (store / "appendonly.aof.manifest").write_text("from another world\n")
    path = socket_of(redis_server.start(supervisor, config(tmp_path / "var"), os.environ))
    assert redis_server.answers(path)
    assert any("put aside" in line for line in said)
    assert len(list((tmp_path / "var").glob("redis.unreadable-*"))) == 1


@pytest.mark.parametrize("name", ["a folder with blanks", "d" * 100, "文件夹"])
def test_a_long_or_odd_path_gets_a_short_private_folder(tmp_path, name):
    data_dir = config(tmp_path / name).data_dir
    path = redis_server.socket_path(data_dir)
    try:
        assert len(os.fsencode(path)) < 108
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert redis_server.socket_path(data_dir) == path, "the next start finds the same folder"
    finally:
        redis_server.clean(data_dir)
    assert not path.parent.exists()


def test_a_folder_open_to_others_is_not_used_again(tmp_path):
    data_dir = config(tmp_path / "a b").data_dir
    opened = redis_server.socket_path(data_dir).parent
    opened.chmod(0o777)
    again = redis_server.socket_path(data_dir).parent
    assert again != opened
    opened.rmdir()
    redis_server.clean(data_dir)


def test_without_any_server_it_says_what_to_install(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(redis_server, "_WHEEL", "no-such-distribution")
    with pytest.raises(Refusal, match="apt-get install redis-server"):
        redis_server.find_server()


def ask(path, command):
    with redis_server.socket.socket(redis_server.socket.AF_UNIX) as client:
        client.connect(str(path))
        client.sendall(command)
        return client.recv(100)
