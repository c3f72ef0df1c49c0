"""What the console consists of: the steps before its start and the programs that run."""

import sys
from collections.abc import Mapping

from console.runner.config import ROOT, Config
from console.runner.leftovers import MARK
from console.runner.processes import ChildSpec


def child_environment(config: Config, environ: Mapping[str, str], redis_url: str) -> dict[str, str]:
    """The environment of every child: the caller's, and what the runner decided."""
    return {
        **environ,
        "DATA_DIR": str(config.data_dir),
        "PORT": str(config.port),
        "REDIS_URL": redis_url,
        "DEMO": "1" if config.demo else "0",
        "DJANGO_SETTINGS_MODULE": "console.settings",
        "PYTHONUNBUFFERED": "1",
        MARK: str(config.data_dir),
    }


def steps(config: Config, env: Mapping[str, str]) -> list[ChildSpec]:
    """What is run to its end before the console starts, in this order."""
    return [_python("prepare", env, "manage.py", "prepare", "--verbosity=1")]


def children(config: Config, env: Mapping[str, str]) -> list[ChildSpec]:
    """The programs that make up the running console."""
    return [_web(config, env), _files(config, env), *_workers(env)]


def _web(config: Config, env: Mapping[str, str]) -> ChildSpec:
    served = _granian("console.wsgi:application", config.port)
    return _python("web", env, *served, "--workers", "2", "--blocking-threads", "8")


def _files(config: Config, env: Mapping[str, str]) -> ChildSpec:
    """A download holds a thread for as long as its reader takes; one that waits costs next to nothing."""
    served = _granian("console.files:application", config.files_port)
    return _python("files", env, *served, "--workers", "1", "--blocking-threads", "64", "--http", "1")


def _granian(application: str, port: int) -> tuple[str, ...]:
    return (
        *("-m", "granian", "--interface", "wsgi", application, "--host", "127.0.0.1", "--port", str(port)),
        *("--respawn-failed-workers", "--workers-kill-timeout", "5", "--no-ws"),
    )


def _workers(env: Mapping[str, str]) -> list[ChildSpec]:
    celery = ("-m", "celery", "-A", "console")
    worker = (*celery, "worker", "--pool=threads", "--without-mingle", "--without-gossip", "--loglevel=INFO")
    return [
        _python("worker", env, *worker, "--queues=state,engine", "--concurrency=8", "--hostname=state@%h"),
        _python("slow", env, *worker, "--queues=slow", "--concurrency=8", "--hostname=slow@%h"),
        # The schedule stays in memory: a file of it could be torn by a kill, and ticks need no past.
        _python("beat", env, *celery, "beat", "--scheduler=celery.beat:Scheduler", "--pidfile="),
    ]


def _python(name: str, env: Mapping[str, str], *arguments: str) -> ChildSpec:
    return ChildSpec(name, (sys.executable, *arguments), env, ROOT)
