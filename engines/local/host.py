"""The image `host`: a list of what this machine lends to jobs, read-only. Everything else is absent.

As root, a job has no capability but still owns root's files, so nothing secret may be on the list:
of /etc only named entries, single files only if everybody may read them. /usr and /opt are lent whole.
Of /sys only what tells about devices and CPUs: firmware tables may hold a machine's start-up secrets.
"""

from __future__ import annotations

import glob
import os
import stat

_LINKS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_TREES = ("/usr", "/opt")
_SYS = ("/sys/devices", "/sys/class", "/sys/bus", "/sys/dev")
_ETC = (
    *("alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "timezone"),
    *("nsswitch.conf", "resolv.conf", "host.conf", "gai.conf", "protocols", "services", "networks", "rpc"),
    *("ssl/certs", "ssl/openssl.cnf", "ca-certificates", "ca-certificates.conf", "crypto-policies"),
    *("pki/ca-trust", "pki/tls/certs", "pki/tls/cert.pem", "pki/tls/openssl.cnf"),
    *("mime.types", "magic", "magic.mime", "os-release", "debian_version", "redhat-release", "lsb-release"),
    *("bash.bashrc", "profile", "inputrc", "terminfo", "fonts", "locale.alias", "locale.conf", "perl"),
    *("python3", "python3.*", "java-*", "libibverbs.d", "libnl", "libnl-3", "openmpi", "mpich", "ucx"),
    *("nccl.conf", "OpenCL", "vulkan", "glvnd", "ImageMagick-6"),
)
_DEVICES = ("/dev/nvidia*", "/dev/infiniband", "/dev/kfd", "/dev/dri")


def lent_links() -> list[tuple[str, str]]:
    """(path, target) of the top-level links into /usr."""
    return [(path, os.readlink(path)) for path in _LINKS if os.path.islink(path)]


def lent_paths(tools: tuple[str, ...] = ()) -> list[str]:
    """Existing directories and files to show read-only at the same place; parents before children."""
    real = [path for path in _LINKS if os.path.isdir(path) and not os.path.islink(path)]
    named = [path for name in _ETC for path in sorted(glob.glob(f"/etc/{name}"))]
    paths = [*_TREES, *real, *_SYS, *(path for path in named if _is_public(path)), *tools]
    return [path for path in dict.fromkeys(paths) if os.path.exists(path)]


def devices() -> list[str]:
    """Device files of GPUs and RDMA. All of the machine's, so that their numbering stays true."""
    return [path for pattern in _DEVICES for path in sorted(glob.glob(pattern))]


def bash_path() -> str:
    """Where bash is, inside as outside."""
    return "/bin/bash" if os.path.exists("/bin/bash") else "/usr/bin/bash"


def _is_public(path: str) -> bool:
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return bool(mode & stat.S_IROTH)
