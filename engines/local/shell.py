"""The small bash program that runs the start command inside the box.

It forks the command's own bash and then becomes `cat`, a parent that never collects its child. So the
command, once dead, stays as a zombie whose status the supervisor reads from outside, exactly: neither
a sandbox's nor a shell's exit status could tell `exit 137` from "killed by signal 9". And the command
does not start before the supervisor has written down that it did. Three descriptors, which the command
does not get, serve for that:

    5, from the supervisor: one line; it comes back on
    3, to the supervisor:   as soon as there is `cat` and no shell any more
    4, from the supervisor: "go", for the child; end of file means that the supervisor is gone

`cat` ignores what a stop sends to everybody, the command does not. Its standard error is not the
command's: what bash or the sandbox have to say does not belong into the log. `-p` keeps BASH_ENV and
exported functions for the command alone; `set -m` gives the command its own process group and leaves
SIGINT as it was.
"""

from __future__ import annotations

REPORT_FD = 3
CONTROL_FD = 4
ECHO_FD = 5

_PROGRAM = r"""
trap '' TERM INT HUP QUIT USR1 USR2 PIPE ALRM
set -m
unset SHLVL OLDPWD PROOT_TMP_DIR
(
  trap - TERM INT HUP QUIT USR1 USR2 PIPE ALRM
  read -r TRAINYARD_GO <&4 || exit 125
  unset TRAINYARD_GO
  exec "$BASH" "$1" 2>&1 3>&- 4>&- 5>&-
) &
exec /bin/cat <&5 >&3 4>&- 5>&-
"""


def shell_argv(bash: str, script: str) -> list[str]:
    """The command line that runs the file `script`; paths as the sandbox sees them."""
    return [bash, "-p", "-c", _PROGRAM, "trainyard", script]


def script_bytes(command: str) -> bytes:
    """The start command as a file: unchanged, but CRLF becomes LF. A lone CR stays."""
    return command.replace("\r\n", "\n").encode("utf-8", "surrogateescape")
