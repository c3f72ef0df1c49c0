"""What reviewers should not have to count: sizes, and imports in the wrong place."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
ROOMS = (
    "console",
    "runs",
    "jobs",
    "images",
    "storage",
    "pools",
    "alerts",
    "teams",
    "engines",
    "tools",
    "bench",
)
SOURCES = [
    path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py")) if "migrations" not in path.parts
]
MOST_LINES_OF_FILE, MOST_LINES_OF_FUNCTION, MOST_PARAMETERS = 400, 50, 5


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def functions(path: Path) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)]


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_sizes(path):
    assert len(path.read_text().splitlines()) <= MOST_LINES_OF_FILE
    for function in functions(path):
        lines = (function.end_lineno or 0) - function.lineno + 1
        assert lines <= MOST_LINES_OF_FUNCTION, f"{function.name} has {lines} lines"
        arguments = [a.arg for a in (*function.args.args, *function.args.kwonlyargs)]
        given = [a for a in arguments if a not in ("self", "cls")]
        assert len(given) <= MOST_PARAMETERS, f"{function.name} takes {given}"


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_imports_are_at_the_top(path):
    for function in functions(path):
        inner = [node for node in ast.walk(function) if isinstance(node, ast.Import | ast.ImportFrom)]
        assert not inner, f"{function.name} imports"


@pytest.mark.parametrize("path", SOURCES, ids=name)
def test_each_module_says_what_it_is_for(path):
    if path.name not in ("__init__.py", "apps.py"):
        assert ast.get_docstring(ast.parse(path.read_text()))
