"""Docker's files say the same as the runner, and hold no secret."""

import re
from pathlib import Path

import yaml

from console.runner.config import read_config
from console.runner.plan import children

ROOT = Path(__file__).resolve().parents[2]
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())


def test_the_workers_take_the_queues_that_the_runner_gives_them():
    config = read_config({})
    for child in children(config, {}):
        if child.name == "web":
            continue
        wanted = {
            word for word in child.argv if re.match(r"--(queues|pool|concurrency|hostname|scheduler)=", word)
        }
        assert wanted <= set(COMPOSE["services"][child.name]["command"])


def test_downloads_have_the_threads_that_the_runner_gives_them():
    argv = next(child.argv for child in children(read_config({}), {}) if child.name == "files")
    command = COMPOSE["services"]["files"]["command"]
    for option in ("--interface", "--workers", "--blocking-threads", "--http", "--port"):
        assert argv[argv.index(option) + 1] == command[command.index(option) + 1], option
    assert "console.files:application" in argv
    assert "console.files:application" in command


def test_production_has_no_demo_and_needs_its_password_from_outside():
    for name in ("web", "files", "worker", "slow", "beat", "prepare"):
        environment = COMPOSE["services"][name]["environment"]
        assert (environment["PRODUCTION"], environment["DEMO"]) == ("1", "0")
        assert environment["SANDBOX"] is None, "a value would say that it is meant"
        assert "${POSTGRES_PASSWORD:?" in environment["DATABASE_URL"]
        assert environment["FILES_URL"].startswith("${FILES_URL:?"), "browsers do not reach loopback"
        assert environment["CONSOLE_URL"].startswith("${CONSOLE_URL:?"), "links of alerts lead there"


def test_every_variable_is_one_that_the_console_reads():
    sources = "".join(path.read_text() for path in (ROOT / "console").rglob("*.py"))
    named = {
        name
        for service in COMPOSE["services"].values()
        if "build" in service
        for name in service["environment"]
    }
    assert {name for name in named if f'"{name}"' not in sources} == set()


def test_ports_are_open_on_loopback_only():
    published = [port for service in COMPOSE["services"].values() for port in service.get("ports", [])]
    assert published
    assert all(port.startswith("127.0.0.1:") for port in published)
