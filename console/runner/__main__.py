"""`python -m console.runner`: the console until Ctrl-C."""

import os
import signal
import sys
import time
from collections.abc import Mapping

from console import secret_files
from console.runner import data_dir, leftovers, plan, redis_server
from console.runner.config import Config, Refusal, read_config
from console.runner.readiness import Greeter, check_ports
from console.runner.supervisor import POLL_SECONDS, Stopped, Supervisor


def main(environ: Mapping[str, str]) -> int:
    """Run the console; the exit code is 0 after Ctrl-C or TERM, 1 if it could not start."""
    try:
        config = read_config(environ)
        with data_dir.hold(config):
            prepare(config)
            serve(config, environ)
    except Refusal as refusal:
        print(refusal, file=sys.stderr, flush=True)
        return 1
    except KeyboardInterrupt:  # before `serve` handles it
        return 0
    return 0


def prepare(config: Config) -> None:
    """Clear what an earlier run left behind, and lay out DATA_DIR."""
    if count := leftovers.end_leftovers(config.data_dir):
        say(f"Ended {count} processes of an earlier run")
    check_ports(config)
    data_dir.make_private(config.log_dir)
    secret_files.ensure(config.data_dir)


def serve(config: Config, environ: Mapping[str, str]) -> None:
    """Start everything and keep it running until asked to stop; nothing is left when this returns."""
    supervisor = Supervisor(config.log_dir, say)
    supervisor.on_change = lambda sessions: leftovers.remember(config.data_dir, sessions)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup keeps its promise
            signal.signal(number, lambda *_: supervisor.ask_to_stop())
    try:
        start(supervisor, config, environ)
        greeter = Greeter(config)
        while True:
            supervisor.tick()
            for line in greeter.look():
                say(line)
            time.sleep(POLL_SECONDS)
    except Stopped:
        say("Ending; once more Ctrl-C to end at once")
    finally:
        supervisor.stop()
        redis_server.clean(config.data_dir)
    say("Ended")


def start(supervisor: Supervisor, config: Config, environ: Mapping[str, str]) -> None:
    """Redis first, then the steps that prepare the database, then the programs."""
    redis_url = config.redis_url
    if not redis_url:
        redis_url = redis_server.start(supervisor, config, plan.child_environment(config, environ, ""))
    env = plan.child_environment(config, environ, redis_url)
    for step in plan.steps(config, env):
        say(f"{step.name} …")
        supervisor.run(step)
    for child in plan.children(config, env):
        supervisor.add(child)


def say(line: str) -> None:
    """One line on the console, with the time."""
    print(time.strftime("%H:%M:%S"), line, flush=True)


if __name__ == "__main__":
    sys.exit(main(os.environ))
