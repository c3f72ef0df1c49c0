"""A launcher that a test may kill: starts one attempt as told by JSON in its argument.

Needs only the standard library and `engines`, so that any user's Python can run it.
"""

import dataclasses
import json
import sys
import time
from pathlib import Path

if __name__ == "__main__":
    told = json.loads(sys.argv[1])
    sys.path.insert(0, told["packages"])
    from engines.base import AttemptKey, Launch, Mount, Phase, WorkerLaunch
    from engines.local.engine import LocalEngine, Means

    engine = LocalEngine(Path(told["root"]), told["mode"], means=Means(bwrap=told.get("bwrap")))
    key = AttemptKey(told["job"], 1)
    worker = WorkerLaunch(0, "worker-0", (0,), {"PAGE": "1"}, 2**20)
    mounts = tuple(Mount(*mount) for mount in told.get("mounts", ()))
    print("ready", flush=True)
    engine.start(Launch(key, told["command"], "host", mounts, (worker,), told.get("private", {})))
    print("started", flush=True)
    while told.get("stacks"):
        if b"up" in engine.read_log(key, 0, 0, 99).data:
            print(json.dumps([dataclasses.asdict(one) for one in engine.stacks(key)]))
            engine.stop(key, 0)
            break
        time.sleep(0.02)
    while told["wait"]:
        look = engine.look([key])[key][0]
        if look.phase in (Phase.EXITED, Phase.LOST):
            log = engine.read_log(key, 0, 0, 2**20).data.decode()
            end = {"phase": look.phase, "code": look.exit_code, "signal": look.signal, "log": log}
            print(json.dumps({**end, "fault": str(look.fault)}))
            break
        time.sleep(0.02)
