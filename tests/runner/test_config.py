import pytest

from console.runner.config import ROOT, Refusal, read_config
from console.runner.plan import child_environment, children, steps


def test_the_defaults():
    config = read_config({})
    assert (config.port, config.data_dir, config.redis_url, config.demo) == (8000, ROOT / "var", "", True)
    assert config.address == "http://127.0.0.1:8000"


def test_a_relative_data_dir_is_beneath_the_project(tmp_path):
    assert read_config({"DATA_DIR": "var2"}).data_dir == ROOT / "var2"
    assert read_config({"DATA_DIR": str(tmp_path)}).data_dir == tmp_path


@pytest.mark.parametrize("port", ["0", "65535", "http", "-1", "８０００"])
def test_a_port_that_is_none_is_refused(port):
    with pytest.raises(Refusal, match="PORT must be a number"):
        read_config({"PORT": port})


def test_another_system_is_sent_to_docker(monkeypatch):
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(Refusal, match="docker compose up"):
        read_config({})


def test_without_demo_no_demo_data_are_made():
    config = read_config({"DEMO": "0"})
    assert [step.name for step in steps(config, {})] == ["prepare"]
    assert child_environment(config, {}, "")["DEMO"] == "0"


def test_children_get_the_callers_environment_and_no_secret_argument():
    config = read_config({"PORT": "8001"})
    env = child_environment(
        config, {"DATABASE_URL": "postgres://u:mellon@h/d", "SANDBOX": "none"}, "unix:///r"
    )
    assert env["DATABASE_URL"] == "postgres://u:mellon@h/d"
    assert (env["SANDBOX"], env["PORT"], env["REDIS_URL"]) == ("none", "8001", "unix:///r")
    planned = children(config, env)
    assert [child.name for child in planned] == ["web", "files", "worker", "slow", "beat"]
    assert not any("mellon" in word or "unix://" in word for child in planned for word in child.argv)
