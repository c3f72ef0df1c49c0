"""Measures the environment of a Worker from inside. It judges nothing: each line it prints is a measurement.

It is sent into the Worker as text, so it needs nothing but Python 3.6 and its standard library. There
annotations of functions are evaluated: no built-in type may be subscripted in them.
"""
# ruff: noqa: UP006, UP035, UP045

import array
import contextlib
import errno
import glob
import json
import os
import select
import shutil
import socket
import subprocess
import sys
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

Told = Dict[str, Any]

BLOCK = 2**20
BLOCKS = 16  # MiB that are written to each mount
DOUBLES = 2**15  # of the vector that goes round by sockets
MINE = "TRAINYARD_CHECK_"  # what tells this program what to do
OF_COMMAND = MINE + "OF_COMMAND_"  # before the names of variables that the job sets
FELT = ("PATH", "LD_", "PYTHON", "CUDA_", "NVIDIA_", "NCCL_")  # beginnings of names that PyTorch feels
WAYS = ("sockets", "gloo", "nccl")  # of the sum, each better than the one before
PATIENCE = 5  # seconds
QUERY = "--query-gpu=index,name,memory.total,ecc.errors.uncorrected.volatile.total"
TORCH = """
import sys
if sys.path[0] == "":
    del sys.path[0]
import json, torch
told = {"torch": torch.__version__, "cuda": torch.version.cuda, "available": torch.cuda.is_available()}
told["devices"] = torch.cuda.device_count()
try:
    told["nccl"] = ".".join(map(str, torch.cuda.nccl.version())) if torch.version.cuda else None
except Exception:
    told["nccl"] = None
print(json.dumps(told))
"""


def asked(name: str) -> str:
    return os.environ[MINE + name]


def own_variables() -> Dict[str, str]:
    """What the platform and the image set."""
    return {name: value for name, value in os.environ.items() if not name.startswith(MINE)}


def job_variables() -> Dict[str, str]:
    """What the job sets above that for its command."""
    names = [name for name in os.environ if name.startswith(OF_COMMAND)]
    return {name[len(OF_COMMAND) :]: os.environ[name] for name in names}


def output_of(
    command: List[str], seconds: float, variables: Optional[Dict[str, str]] = None
) -> Tuple[int, List[str]]:
    """Exit status and the lines that a program prints; -1 if it does not end."""
    try:
        pipe, null = subprocess.PIPE, subprocess.DEVNULL
        run = subprocess.run(
            command, stdout=pipe, stderr=subprocess.STDOUT, stdin=null, timeout=seconds, env=variables
        )
    except subprocess.TimeoutExpired:
        return -1, []
    lines = run.stdout.decode("utf-8", "replace").splitlines()
    return run.returncode, [line[:300] for line in lines if line.strip()][-64:]


def has_driver() -> bool:
    return os.path.exists("/proc/driver/nvidia") or os.path.exists("/dev/nvidiactl")


def gpu() -> Told:
    told: Told = {"driver": has_driver(), "devices": len(glob.glob("/dev/nvidia[0-9]*")), "status": None}
    tool = shutil.which("nvidia-smi")
    if tool:
        told["status"], told["lines"] = output_of([tool, QUERY, "--format=csv,noheader,nounits"], 60)
    return told


def read(path: str) -> str:
    try:
        with open(path) as file:
            return file.read(200).strip()
    except OSError:
        return ""


def rdma() -> Told:
    ports = []
    for port in sorted(glob.glob("/sys/class/infiniband/*/ports/*"))[:64]:
        parts = port.split("/")
        told = {name: read(port + "/" + name) for name in ("state", "phys_state", "rate")}
        ports.append(dict(told, name=parts[4] + "/" + parts[6]))
    return {"ports": ports, "driver": has_driver()}


def mount_written(path: str) -> Told:
    """Bytes that nobody else sees: the file has no name any more when they are written."""
    data = os.urandom(BLOCK)
    name = os.path.join(path, ".trainyard-env-check-" + os.urandom(8).hex())
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    step = "create"
    try:
        fd = os.open(name, flags, 0o600)
        try:
            os.unlink(name)
            step, began = "write", time.monotonic()
            for _ in range(BLOCKS):
                view = memoryview(data)
                while view:
                    view = view[os.write(fd, view) :]
            step = "fsync"
            os.fsync(fd)
            wrote = time.monotonic() - began
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            step, began = "read", time.monotonic()
            os.lseek(fd, 0, os.SEEK_SET)
            same = all(read_block(fd) == data for _ in range(BLOCKS))
            took = time.monotonic() - began
        finally:
            os.close(fd)
    except OSError as error:
        return {"step": step, "error": errno.errorcode.get(error.errno or 0, str(error.errno))}
    sizes = os.statvfs(path)
    free = sizes.f_bavail * sizes.f_frsize
    return {"same": same, "write": speed(wrote), "read": speed(took), "free": free}


def read_block(fd: int) -> bytes:
    data = b""
    while len(data) < BLOCK:
        more = os.read(fd, BLOCK - len(data))
        if not more:
            break
        data += more
    return data


def speed(seconds: float) -> float:
    return round(BLOCKS * BLOCK / 1e6 / max(seconds, 1e-6), 1)


def mount_read(path: str) -> Told:
    """Lists the folder and reads the beginning of one file, which is thrown away."""
    step = "list"
    try:
        seen, file = 0, None
        with os.scandir(path) as entries:
            for entry in entries:
                seen += 1
                if file is None and entry.is_file(follow_symlinks=False):
                    file = entry.path
                if seen >= 1000:
                    break
        step, size = "read", 0
        if file is not None:
            fd = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                size = len(os.read(fd, 65536))
            finally:
                os.close(fd)
    except OSError as error:
        return {"step": step, "error": errno.errorcode.get(error.errno or 0, str(error.errno))}
    return {"entries": seen, "bytes": size}


def runtime(seconds: float) -> Told:
    """Of the Python that the job's command will find, with the variables that it will have."""
    job = job_variables()
    variables = dict(own_variables(), **job)
    path = variables.get("PATH")
    python = shutil.which("python3", path=path) or shutil.which("python", path=path)
    told: Told = {"torch": None, "python": python, "error": ""}
    told["job_sets"] = sorted(name for name in job if name.startswith(FELT))
    if python is None:
        return told
    status, lines = output_of([python, "-c", TORCH], seconds, variables)
    last = lines[-1] if lines else f"status {status}"
    if status == 0 and last.startswith("{"):
        return dict(told, **json.loads(last))
    if "No module named 'torch'" not in last:
        told["error"] = last if status != -1 else f"no answer within {seconds:.0f} s"
    return told


def listening(addresses: List[str], rank: int, port: int) -> socket.socket:
    """Before anything else, so that no neighbour comes too early."""
    server = socket.socket()
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind((addresses[rank], port))
    server.listen(4)
    return server


class Partner:
    """A program that answers in lines of JSON; whatever else it prints are its last words."""

    def __init__(self, command: List[str], variables: Dict[str, str]) -> None:
        pipe, out = subprocess.PIPE, subprocess.STDOUT
        self.process: Any = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=out, env=variables, cwd="/", bufsize=0
        )
        self.text, self.last = b"", b""

    def ask(self, *words: object) -> None:
        self.process.stdin.write((" ".join(map(str, words)) + "\n").encode())

    def answer(self, until: float) -> Told:
        """OSError with its last words if none comes."""
        while True:
            *lines, self.text = self.text.split(b"\n")
            for number, line in enumerate(lines, 1):
                if line.startswith(b"{"):
                    self.text = b"\n".join([*lines[number:], self.text])
                    told: Told = json.loads(line.decode())
                    return told
                self.last = line.strip() or self.last
            output = self.process.stdout
            if not select.select([output], [], [], max(until - time.monotonic(), 0))[0]:
                raise OSError("no answer in time")
            data = os.read(output.fileno(), 65536)
            if not data:
                last = (self.text.strip() or self.last).decode("utf-8", "replace")
                raise OSError(f"ended with status {self.process.wait()}: {last}"[:300])
            self.text += data

    def end(self) -> None:
        """It ends by itself when it has nothing more to do."""
        self.process.stdin.close()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class Ring:
    """Connections from each Worker to the next. The port is free again when they are closed."""

    def __init__(self, server: socket.socket, addresses: List[str], rank: int, port: int, until: float):
        self.rank, self.size = rank, len(addresses)
        self.following = connected((addresses[(rank + 1) % self.size], port), until)
        server.settimeout(max(until - time.monotonic(), 0.1))
        self.before = server.accept()[0]
        server.close()
        for one in (self.following, self.before):
            one.settimeout(max(until - time.monotonic(), 0.1))

    def around(self, mine: bytes, together: Callable[[bytes, bytes], bytes]) -> bytes:
        """Each adds its own to what goes round, and then each gets the whole."""
        if self.rank:
            mine = together(mine, self.received(len(mine)))
        self.following.sendall(mine)
        whole = self.received(len(mine))
        if self.rank + 1 < self.size:
            self.following.sendall(whole)
        return whole

    def received(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            more = self.before.recv(size - len(data))
            if not more:
                raise OSError("a neighbour has gone")
            data += more
        return data

    def close(self) -> None:
        """Who has asked for a connection ends it."""
        self.following.close()
        while self.before.recv(4096):
            pass
        self.before.close()


def allreduce(server: socket.socket, addresses: List[str], rank: int, port: int, until: float) -> Told:
    """A sum over the Workers in the best way that all of them can go: the first of them tells which."""
    torch = Partner([sys.executable, "-c", asked("COLLECTIVE")], collective_variables(addresses))
    try:
        mine = way_of(torch, (time.monotonic() + until) / 2)
        ring = Ring(server, addresses, rank, port, until)
        way = WAYS[ring.around(bytes([mine["way"]]), min)[0]]
        if way == "sockets":
            told = summed(ring)
            ring.close()
            return dict(told, way=way, able=bool(mine["way"]), why=mine.get("why", ""))
        return dict(by_torch(torch, way, ring, addresses[0], until), way=way)
    finally:
        torch.end()


def collective_variables(addresses: List[str]) -> Dict[str, str]:
    """Workers that meet on the loopback stay there, unless the image says otherwise."""
    variables = own_variables()
    if all(address.startswith("127.") for address in addresses):
        for name in ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME"):
            variables.setdefault(name, "lo")
    return variables


def way_of(torch: Partner, until: float) -> Told:
    try:
        told = torch.answer(until)
    except OSError as error:
        return {"way": 0, "why": str(error)}
    if not int(asked("GPUS")):
        told["way"] = min(told["way"], WAYS.index("gloo"))
    return told


def by_torch(torch: Partner, way: str, ring: Ring, host: str, until: float) -> Told:
    """They meet at a port of their own: the job's would not be free at once for its command."""
    left = until - time.monotonic()
    more = (ring.rank, ring.size, max(left - PATIENCE, left / 2))  # time to say what it has waited for
    told: Told = {}
    if ring.rank == 0:
        told = answered(torch, until, way, host, 0, *more)
    port = int.from_bytes(ring.around(told.get("port", 0).to_bytes(2, "big"), max), "big")
    ring.close()
    if not port:
        return dict({"error": "the first Worker could not begin"}, **told)
    return answered(torch, until, *((way, host, port, *more) if ring.rank else ()))


def answered(torch: Partner, until: float, *words: object) -> Told:
    try:
        with contextlib.suppress(BrokenPipeError):
            if words:
                torch.ask(*words)
        return torch.answer(until)
    except OSError as error:
        return {"error": str(error)}


def summed(ring: Ring) -> Told:
    began = time.monotonic()
    vector = array.array("d", [float(ring.rank + 1)]) * DOUBLES
    whole = ring.around(vector.tobytes(), added)
    right = array.array("d", [ring.size * (ring.size + 1) / 2.0]) * DOUBLES
    return {"right": whole == right.tobytes(), "took": round(time.monotonic() - began, 6)}


def added(one: bytes, other: bytes) -> bytes:
    vectors = array.array("d", one), array.array("d", other)
    return array.array("d", map(float.__add__, *vectors)).tobytes()


def connected(address: Tuple[str, int], until: float) -> socket.socket:
    while True:
        try:
            return socket.create_connection(address, 1)
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


def tell(item: str, measure: Callable[..., Told], *args: Any, **more: Any) -> None:
    began = time.monotonic()
    try:
        told = measure(*args)
    except Exception as error:
        told = {"failed": f"{type(error).__name__}: {error}"[:300]}
    print(json.dumps(dict(told, item=item, seconds=round(time.monotonic() - began, 2), **more)), flush=True)


def main() -> None:
    seconds = float(asked("SECONDS"))
    until = time.monotonic() + seconds
    addresses, rank, port = asked("ADDRESSES").split(","), int(asked("RANK")), int(asked("PORT") or 0)
    server = None
    if len(addresses) > 1 and port:
        try:
            server = listening(addresses, rank, port)
        except OSError as error:
            print(json.dumps({"item": "allreduce", "failed": f"listen: {error}"}), flush=True)
    tell("gpu", gpu)
    tell("rdma", rdma)
    for path, read_only in json.loads(asked("MOUNTS")):
        tell("storage", mount_read if read_only else mount_written, path, path=path)
    tell("runtime", runtime, min(seconds / 3, 120))
    if server is not None:
        tell("allreduce", allreduce, server, addresses, rank, port, until)


if __name__ == "__main__":
    main()
