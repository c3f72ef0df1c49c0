"""The small bash program that runs the start command and tells how it ended.

It runs inside the sandbox, as the parent of the command's own bash, for two reasons: a sandbox's
exit status cannot tell `exit 137` from "killed by signal 9", and the command must not start before
the supervisor has written down that it did. It speaks on two descriptors that the command does not get:

    3, to the supervisor:   "ready", then what job control says ("[1]+  Exit 137 …"), then "ended N"
    4, from the supervisor: "go"; end of file means that the supervisor is gone

Its own standard error is not the command's: what bash or the sandbox have to say does not belong
into the log. After its report it waits to be killed: what is left of the tree may still have time
to stop in peace.

It ignores what a stop sends to everybody, and the command does not: with a handler instead, bash
loses track of its child now and then. `-p` keeps BASH_ENV and exported functions for the command
alone. Job control (`set -m`) gives the command its own process group, leaves SIGINT as it was, and
makes bash say whether it exited: as a notice on standard error, or when `jobs` asks.
"""

from __future__ import annotations

REPORT_FD = 3
CONTROL_FD = 4

_PROGRAM = r"""
trap '' TERM INT HUP QUIT USR1 USR2 PIPE ALRM
set -m
unset SHLVL OLDPWD PROOT_TMP_DIR PROOT_NO_SECCOMP
echo ready >&3
read -r go <&4 || exit 125
(trap - TERM INT HUP QUIT USR1 USR2 PIPE ALRM; exec "$BASH" "$1" 2>&1 3>&- 4>&-) &
main=$!
LC_ALL=C
LANGUAGE=C
exec 2>&3
full=
((BASH_VERSINFO[0] > 4)) && full=-f
wait $full $main
code=$?
jobs >&3
echo "ended $code" >&3
read -r go <&4
"""


def shell_argv(bash: str, script: str) -> list[str]:
    """The command line that runs the file `script`; paths as the sandbox sees them."""
    return [bash, "-p", "-c", _PROGRAM, "trainyard", script]


def script_bytes(command: str) -> bytes:
    """The start command as a file: unchanged, but CRLF becomes LF. A lone CR stays."""
    return command.replace("\r\n", "\n").encode("utf-8", "surrogateescape")


def parse_report(text: bytes) -> tuple[int | None, int | None] | None:
    """(exit code, signal), one of them None, once the report is whole; None before."""
    told, found, number = text.rpartition(b"ended ")
    if not found or not number.endswith(b"\n"):
        return None
    code = int(number)
    if code > 128 and b"Exit %d" % code not in told:
        return None, code - 128
    return code, None
