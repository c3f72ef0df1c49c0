"""The runner with small stand-ins for the console's programs: `python -m tests.runner.stand_in`.

web and files answer /healthz on PORT and the next; worker starts a detached process, like a job's
supervisor, and records it.
"""

import os
import sys

from console.runner import __main__ as runner
from console.runner import plan
from console.runner.config import ROOT
from console.runner.processes import ChildSpec

WEB = """
import http.server, os
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/healthz" else 404)
        self.end_headers()
    def log_message(self, *arguments):
        pass
if os.fork() == 0:
    import time
    open(os.environ["DATA_DIR"] + "/web-child.pid", "w").write(str(os.getpid()))
    time.sleep(120)
    os._exit(0)
http.server.HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
"""
FILES = """
import http.server, os
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
    def log_message(self, *arguments):
        pass
http.server.HTTPServer(("127.0.0.1", int(os.environ["PORT"]) + 1), Handler).serve_forever()
"""
WORKER = """
import os, subprocess, time
path = os.environ["DATA_DIR"] + "/detached.pid"
if not os.path.exists(path):
    detached = subprocess.Popen(["sleep", "120"], start_new_session=True)
    open(path, "w").write(str(detached.pid))
time.sleep(120)
"""


def children(config, env):
    programs = {"web": WEB, "files": FILES, "worker": WORKER}
    return [ChildSpec(name, (sys.executable, "-c", code), env, ROOT) for name, code in programs.items()]


if __name__ == "__main__":
    plan.children = children
    plan.steps = lambda config, env: []
    sys.exit(runner.main(os.environ))
