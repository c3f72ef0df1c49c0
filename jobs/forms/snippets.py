"""The filled form as a request: the body, and programs that send it. Pure.

No private value is in them: each is taken from the variable of that name where the program is run, and what
is kept from an earlier job is referred to.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from itertools import count
from pprint import pformat
from typing import Any

from jobs.clone import least_body
from jobs.spec import JobSpec

WIDTH = 88
FILL_IN = """\
python3 -c '
import json, os, sys
body = json.load(sys.stdin.buffer)
for variable in body["env"]:
    if variable.get("private") and "value" in variable:
        variable["value"] = os.environ[variable["name"]]
json.dump(body, sys.stdout)'"""
PYTHON = """\
import json
import os
import urllib.error
import urllib.request

BODY = {body}

request = urllib.request.Request(
    {address!r},
    json.dumps(BODY).encode(),
    {{
        "Authorization": "Token " + os.environ["TRAINYARD_TOKEN"],
        "Content-Type": "application/json",
    }},
)
try:
    with urllib.request.urlopen(request) as answer:
        print(json.load(answer)["id"])
except urllib.error.HTTPError as error:
    raise SystemExit(error.read().decode())
"""


@dataclass(frozen=True, slots=True)
class Snippets:
    """`secrets` are the names of the variables that have to be set where one is run."""

    body: str
    curl: str
    python: str
    secrets: tuple[str, ...]


class _FromEnvironment:
    """Stands in a Python literal for the value of a variable."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"os.environ[{self.name!r}]"


def snippets_of(spec: JobSpec, address: str) -> Snippets:
    """`address` is where jobs are posted."""
    secrets = tuple(v.name for v in spec.env if v.private and v.from_job is None)
    text = json.dumps(least_body(spec), indent=2, ensure_ascii=False)
    return Snippets(text, _curl(text, address, bool(secrets)), _python(spec, address), secrets)


def _curl(text: str, address: str, fill_in: bool) -> str:
    end = _absent(text)
    curl = [
        f"curl -sS {shlex.quote(address)}",
        '-H "Authorization: Token ${TRAINYARD_TOKEN:?}"',
        "-H 'Content-Type: application/json'",
        "--data-binary @-",
    ]
    if fill_in:
        command = f"{FILL_IN} <<'{end}' | " + " \\\n  ".join(curl)
    else:
        command = " \\\n  ".join(curl) + f" <<'{end}'"
    return f"{command}\n{text}\n{end}\n"


def _absent(text: str) -> str:
    """A word that occurs nowhere in the text, to end it."""
    words = ("END" if not n else f"END_{n}" for n in count())
    return next(word for word in words if word not in text)


def _python(spec: JobSpec, address: str) -> str:
    body: dict[str, Any] = least_body(spec)
    for variable in body.get("env", ()):
        if "private" in variable and "value" in variable:
            variable["value"] = _FromEnvironment(variable["name"])
    return PYTHON.format(body=pformat(body, width=WIDTH, sort_dicts=False), address=address)
