"""The process between supervisor and sandbox, forked from the supervisor.

It starts the box, tells how the box ended, and outlives a killed supervisor just long enough to end
the whole tree and remove its scratch layer, unless that stays. If the keeper is killed instead, its box
dies with it and the supervisor adopts what is left.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
import select
import signal
import time
from typing import NamedTuple, NoReturn

from engines.local import cgroups, litter, tree
from engines.local import scratch as layers
from engines.local.box import ARGS_FD, SHOWN_FD, Box
from engines.local.oldcalls import hide_newer_calls
from engines.local.shell import CONTROL_FD, ECHO_FD, REPORT_FD

_ADOPTION_S = 2.0


class Kept(NamedTuple):
    """The supervisor's ends of the pipes; see `shell` for `report`, `control` and `echo`.

    `complaints` is what the box itself says. `status` tells how it ended: `box` and the exit code
    (negative: a signal). The Worker lives no longer than `life` is open. Two numbers written there, of the
    shell that is `cat` and of the command's bash, dead by then, ask how that one ended: `command` and its
    exit code, or `?`.
    """

    pid: int
    output: int
    report: int
    control: int
    echo: int
    complaints: int
    status: int
    life: int


def start(box: Box, scratch: str) -> Kept:
    """Fork the keeper, which starts the box."""
    output, report, complaints, status = os.pipe(), os.pipe(), os.pipe(), os.pipe()
    control, echo, life = os.pipe(), os.pipe(), os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            child_fds = {1: output[1], 2: complaints[1], REPORT_FD: report[1]}
            child_fds |= {CONTROL_FD: control[0], ECHO_FD: echo[0], **dict(enumerate(box.shown, SHOWN_FD))}
            _keep(box, scratch, child_fds, life[0], status[1])
        except BaseException as error:
            os.write(2, f"keeper: {error!r}\n".encode())
        finally:
            os._exit(70)
    for fd in (output[1], report[1], complaints[1], status[1], control[0], echo[0], life[0], *box.shown):
        os.close(fd)
    for fd in (output[0], report[0], complaints[0], status[0]):
        os.set_blocking(fd, False)
    return Kept(pid, output[0], report[0], control[1], echo[1], complaints[0], status[0], life[1])


def _keep(box: Box, scratch: str, child_fds: dict[int, int], life: int, status: int) -> NoReturn:
    tree.adopt_orphans()
    _close_others({*child_fds.values(), life, status})
    child = os.fork()
    if child == 0:
        try:
            _become(box, child_fds)
        except BaseException as error:
            what = getattr(error, "strerror", None) or type(error).__name__
            os.write(child_fds[2], f"{os.path.basename(box.argv[0])}: {what}\n".encode("utf-8", "replace"))
        finally:
            os._exit(71)
    _close_others({life, status})
    try:
        _wait_for_end(child, life, status)
    finally:
        tree.kill_all()
        if not layers.stays(scratch):
            with contextlib.suppress(OSError):
                layers.remove(scratch)
        litter.sweep(box.litter, [child])
        if box.group:
            cgroups.remove(box.group)
    os._exit(0)


def _wait_for_end(child: int, life: int, status: int) -> None:
    """Reap children and answer until the supervisor is gone. A dead child wakes the poll by way of a pipe."""
    signal.signal(signal.SIGCHLD, lambda *_: None)
    waker, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    poll = select.poll()
    poll.register(life, select.POLLIN)
    poll.register(waker, select.POLLIN)
    while True:
        ready = {fd for fd, _ in poll.poll(1000)}
        if life in ready:
            question = os.read(life, 64)
            if not question:
                return
            _answer(question, child, status)
        if waker in ready:
            os.read(waker, 4096)
        _collect(child, status)


def _answer(question: bytes, child: int, status: int) -> None:
    """End the shell: its dead child becomes ours, and its status is told to nobody but the parent."""
    shell, main = map(int, question.split())
    for process in tree.descendants(os.getpid()):
        if process.pid == shell:
            tree.send(process, signal.SIGKILL)
    until = time.monotonic() + _ADOPTION_S
    code = None
    while code is None and time.monotonic() < until:
        is_over = _is_dead(child)  # the box is, and so the shell: what became ours has done so by now
        code = _exit_code(main)
        if is_over:
            break
        time.sleep(0.005)
    if code is None:
        _collect(child, status)
    with contextlib.suppress(OSError):
        os.write(status, b"command ?\n" if code is None else b"command %d\n" % code)


def _is_dead(child: int) -> bool:
    """Whether the child has ended; it is not collected by this."""
    try:
        return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return True


def _exit_code(child: int) -> int | None:
    """The exit code of a dead child that this collects; None if it is none of ours."""
    with contextlib.suppress(ChildProcessError):
        pid, how = os.waitpid(child, os.WNOHANG)
        return os.waitstatus_to_exitcode(how) if pid else None
    return None


def _collect(child: int, status: int) -> None:
    """Reap what has died; tell the supervisor when it was the box."""
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, how = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            if pid != child:
                continue
            with contextlib.suppress(OSError):  # nobody listens any more: `life` will tell
                os.write(status, b"box %d\n" % os.waitstatus_to_exitcode(how))


def _close_others(kept: set[int]) -> None:
    """Nothing of the supervisor stays open here, its lock above all."""
    low = 3
    for fd in sorted(kept):
        if fd >= low:
            os.closerange(low, fd)
            low = fd + 1
    os.closerange(low, os.sysconf("SC_OPEN_MAX"))


def _become(box: Box, child_fds: dict[int, int]) -> NoReturn:
    os.setsid()
    tree.die_with_parent()
    if box.group:
        cgroups.join(box.group)
    for number in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    os.umask(0o022)
    if box.file_limit:
        _limit(resource.RLIMIT_FSIZE, box.file_limit)
    _limit(resource.RLIMIT_CORE, 0)
    if box.hidden_args:
        child_fds = {**child_fds, ARGS_FD: _in_memory(box.hidden_args)}
    _place(child_fds)
    os.chdir(box.cwd)
    if box.old_calls:
        hide_newer_calls()
    os.execve(box.argv[0], box.argv, box.env)  # noqa: S606 -- no shell is the point


def _limit(what: int, wanted: int) -> None:
    hard = resource.getrlimit(what)[1]
    value = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(what, (value, value))


def _in_memory(data: bytes) -> int:
    fd = os.memfd_create("arguments")
    with open(fd, "wb", closefd=False) as file:
        file.write(data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _place(child_fds: dict[int, int]) -> None:
    """Give each descriptor its number, by way of high ones so that none is overwritten too early."""
    high = max(child_fds) + 1
    copies = {number: fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, high) for number, fd in child_fds.items()}
    for number, fd in copies.items():
        os.dup2(fd, number, inheritable=True)
