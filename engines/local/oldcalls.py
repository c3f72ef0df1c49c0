"""Making newer system calls "not there", for proot.

proot 5.1 (Debian 12) does not translate paths of statx, faccessat2 and openat2: `ls` would see the
machine's files instead of the Worker's. Refused with ENOSYS, the C library falls back to older calls.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct

_CALLS = {"x86_64": (332, 439, 437), "aarch64": (291, 439, 437)}  # statx, faccessat2, openat2
_PR_SET_NO_NEW_PRIVS = 38
_PR_SET_SECCOMP = 22
_SECCOMP_MODE_FILTER = 2
_LOAD_WORD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def hide_newer_calls() -> None:
    """For this process and its children; does nothing on a kind of machine it does not know."""
    calls = _CALLS.get(os.uname().machine)
    if not calls:
        return
    steps = [(_LOAD_WORD, 0, 0, 0)]  # the number of the system call
    steps += [(_JUMP_IF_EQUAL, len(calls) - place, 0, number) for place, number in enumerate(calls)]
    steps += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _ERRNO | errno.ENOSYS)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = _Program(len(steps), ctypes.cast(code, ctypes.c_void_p))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_SECCOMP)")
