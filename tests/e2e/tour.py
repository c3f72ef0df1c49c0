"""A console with something of everything, and the addresses of all its pages: for pictures and for checks."""

from __future__ import annotations

from tests.e2e.stack import Console

LONG_NAME = '训练-🚀 "q" <img src=x onerror=alert(1)> ../../x (1) ' + "a-very-long-name-without-a-break" * 2
LIVELY = """\
for step in $(seq 1 40); do echo "step $step loss 0.$((9000 - step * 7))"; done
sleep 3000
"""
STUCK = (
    "exec python3 -c 'import threading; gate = threading.Event(); threading.Thread(target=gate.wait).start()'"
)


LEAVES = """\
mkdir -p cache/shards; seq 1 20000 > cache/losses.txt; echo '{"lr": 0.1}' > config.json
head -c 3000000 /dev/zero > cache/shards/0.bin
ln -s /infini-data/weights latest; echo trace > /tmp/trace.txt; echo x > $'caf\\xe9.txt'
echo "loading data"; echo "Traceback: no such file" >&2; exit 3
"""


class Tour:
    """Jobs in every state on a furnished console, and where each page is."""

    def __init__(self, console: Console) -> None:
        self.console = console
        console.manage("shell", "-c", "from tests.e2e.furnish import furnish; furnish()")
        one, eight = console.spec(1), console.spec(8)
        mounts = [console.volume_mount()]
        digits = {
            "command": "sh /mnt/public/digits/run.sh",
            "env": [
                {"name": "OUTPUT_DIR", "value": "/mnt/public/outputs/tour"},
                {"name": "API_KEY", "value": "sekret", "private": True},
            ],
            "mounts": mounts,
            "framework": "pytorch_ddp",
            "worker_count": 2,
            "spec": one,
            "tags": ["digits", "demo"],
            "env_check": True,
        }
        self.unfit = console.submit(
            "echo never",
            spec=one,
            name="on-bad-nodes",
            mounts=[*mounts, console.volume_mount("scratch")],
            env_check=True,
            worker_count=2,
        )
        console.wait_state(self.unfit, "failed")  # needs room on two sets of nodes
        self.succeeded = console.submit(**digits, name="digits-01")
        self.failed = console.submit(LEAVES, spec=one, name="broken-数据", keep_after_failure_minutes=1440)
        self.running = console.submit(LIVELY, spec=eight, name="llm-sft-v3", tags=["sft"], worker_count=2)
        self.many = console.submit("sleep 3000", spec=one, worker_count=12, name=LONG_NAME)
        self.stopped = console.submit("sleep 3000", spec=one, name="stopped-early")
        self.queued = console.submit("sleep 1", spec=eight, worker_count=4, name="waits-for-4-nodes")
        console.wait_state(self.stopped, "running")
        console.call("POST", f"jobs/{self.stopped}/stop/")
        self.stacked = console.submit(STUCK, spec=one, name="hangs")
        console.wait_state(self.stacked, "running")
        console.call("POST", f"jobs/{self.stacked}/stacks/", {})
        changes = {"command": "exec sh /mnt/public/digits/run.sh", "worker_count": 1, "hang_detection": True}
        console.wait_state(self.succeeded, "succeeded")  # the next one writes to the same folder
        self.modified = console.call("POST", f"jobs/{self.succeeded}/rerun/", changes)["id"]
        for key, state in (
            (self.succeeded, "succeeded"),
            (self.failed, "failed"),
            (self.many, "running"),
        ):
            console.wait_state(key, state)
        console.wait_state(self.stopped, "stopped")

    def pages(self) -> dict[str, str]:
        """Addresses by name, in the order of the navigation."""
        pools = {p["name"]: p["id"] for p in self.console.call("GET", "pools/")["results"]}
        channels = {c["name"]: c["id"] for c in self.console.call("GET", "alert-channels/")["results"]}
        jobs = ("succeeded", "failed", "running", "many", "stopped", "queued", "modified", "unfit")
        return {
            "home": "/",
            "create": "/jobs/create/",
            "create-example": "/jobs/create/?example=1",
            "create-from": f"/jobs/create/?from={self.succeeded}",
            "create-replace": f"/jobs/create/?from={self.queued}&replace=1",
            "jobs": "/jobs/",
            "jobs-filtered": "/jobs/?state=queued&search=nothing-like-this",
            **{f"job-{state}": f"/jobs/{getattr(self, state)}/" for state in jobs},
            "job-rerun": f"/jobs/{self.succeeded}/rerun/",
            "job-modify": f"/jobs/{self.succeeded}/modify/",
            "job-stop": f"/jobs/{self.running}/stop/",
            "job-priority": f"/jobs/{self.queued}/priority/",
            "job-alerts": f"/jobs/{self.queued}/alerts/",
            "log": f"/jobs/{self.running}/workers/0/log/",
            "stacks": f"/jobs/{self.stacked}/stacks/",
            "files": f"/jobs/{self.failed}/workers/0/files/?path=workspace",
            "file": f"/jobs/{self.failed}/workers/0/files/view/?path=workspace/cache/losses.txt",
            "files-gone": f"/jobs/{self.failed}/remove-files/",
            "pools": "/pools/",
            "pool-cells": f"/pools/{pools['H20-研发']}/",
            "pool-tiles": f"/pools/{pools['A800-生产']}/",
            "pool-bars": f"/pools/{pools['通用大池']}/",
            "images": "/images/",
            "storage": "/storage/",
            "alerts": "/alerts/",
            "notices": "/alerts/notices/",
            "channels": "/alerts/channels/",
            "channel": f"/alerts/channels/{channels['GPU 告警群']}/",
            "channel-kinds": "/alerts/channels/new/",
            "channel-new": "/alerts/channels/new/?kind=webhook",
            "channel-edit": f"/alerts/channels/{channels['GPU 告警群']}/edit/",
            "channel-delete": f"/alerts/channels/{channels['GPU 告警群']}/delete/",
            "rules": "/alerts/rules/",
            "rule-new": "/alerts/rules/new/person/",
            "deliveries": f"/jobs/{self.failed}/deliveries/",
            "help": "/help/",
            "help-page": "/help/compute/",
            "settings": "/settings/",
            "not-found": "/nothing-here/",
        }
