"""The Chinese texts: every text of the console has one, none is left over, labels are those agreed on."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog, Message
from babel.messages.extract import extract
from babel.messages.pofile import read_po
from django.utils.translation.template import templatize

ROOT = Path(__file__).resolve().parents[2]
PO = ROOT / "locale/zh_Hans/LC_MESSAGES/django.po"
KEYWORDS = {
    "_": None,
    "gettext": None,
    "gettext_lazy": None,
    "gettext_noop": None,
    "ngettext": (1, 2),
    "ngettext_lazy": (1, 2),
    "pgettext": ((1, "c"), 2),
    "pgettext_lazy": ((1, "c"), 2),
    "npgettext": ((1, "c"), 2, 3),
}
FOLDERS = ("console", "runs", "jobs", "images", "storage", "pools", "alerts", "teams")


@pytest.fixture(scope="module")
def catalogue() -> Catalog:
    with PO.open("rb") as file:
        return read_po(file)


@pytest.fixture(scope="module")
def used() -> set[tuple[str, str]]:
    """(context, text) of everything that is to be translated, in Python and in templates."""
    sources = [path.read_bytes() for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    sources += [
        flush_left(templatize(path.read_text(), origin=str(path)))
        for path in (ROOT / "templates").rglob("*")
        if path.is_file()
    ]
    return {
        (context or "", text[0] if isinstance(text, tuple) else text)
        for source in sources
        for _line, text, _comments, context in extract("python", BytesIO(source), KEYWORDS)
    }


def flush_left(text: str) -> bytes:
    """Templates are no Python: their indentation means nothing."""
    return "\n".join(line.lstrip() for line in text.split("\n")).encode()


def singular(message: Message) -> str:
    return str(message.id[0] if isinstance(message.id, (tuple, list)) else message.id)


def translated(message: Message) -> list[str]:
    strings = message.string if isinstance(message.string, (tuple, list)) else [message.string]
    return [str(string) for string in strings]


def entries(catalogue: Catalog) -> dict[tuple[str, str], Message]:
    return {(message.context or "", singular(message)): message for message in catalogue if message.id}


def test_every_text_has_a_chinese_one(catalogue: Catalog, used: set[tuple[str, str]]) -> None:
    ready = {key for key, one in entries(catalogue).items() if all(translated(one)) and not one.fuzzy}
    assert sorted(used - ready) == []


def test_every_entry_is_used(catalogue: Catalog, used: set[tuple[str, str]]) -> None:
    assert sorted(set(entries(catalogue)) - used) == []


def test_no_entry_is_there_twice(catalogue: Catalog) -> None:
    """Reading merges entries of one text, so the file's own lines are counted."""
    lines = PO.read_text().splitlines()
    heads = 1  # the entry without a text, which describes the file
    assert sum(line.startswith("msgid ") for line in lines) == len(entries(catalogue)) + heads
    assert not [line for line in lines if line.startswith("#~")]


def test_the_reader_is_addressed_in_one_way(catalogue: Catalog) -> None:
    pages = {str(path): path.read_text() for path in (ROOT / "docs/help/zh").rglob("*.md")}
    texts = {singular(message): "".join(translated(message)) for message in catalogue}
    assert sorted(name for name, text in (texts | pages).items() if "你" in text) == []


@pytest.mark.parametrize(
    ("english", "label"),
    [
        ("Create job", "创建任务"),
        ("Job type", "任务类型"),
        ("Training job", "训练任务"),
        ("Resource type", "资源类型"),
        ("Prepaid resources", "包年包月资源"),
        ("Resource pool", "资源池"),
        ("Worker spec", "Worker 规格"),
        ("Worker count", "Worker 数量"),
        ("Total GPUs", "总 GPU 数量"),
        ("Startable count", "可启动数量"),
        ("Idle GPUs", "空闲卡数"),
        ("Custom GPU count", "自定义卡数"),
        ("Distributed framework", "分布式框架"),
        ("Start command", "启动命令"),
        ("Environment variables", "环境变量"),
        ("visible to the creator only", "仅创建人可见"),
        ("System disk", "系统盘"),
        ("Public data", "公共数据"),
        ("High-performance storage", "高性能存储"),
        ("Mount path", "挂载路径"),
        ("Job name", "任务名称"),
        ("Description", "描述"),
        ("Tags", "标签"),
        ("Job details", "任务详情"),
        ("Job log", "任务日志"),
        ("Progress in detail", "详细进度"),
        ("queued", "排队中"),
        ("deploying", "部署中"),
        ("stopping", "停止中"),
        ("allocate resources", "分配资源"),
        ("pull image", "拉取镜像"),
    ],
)
def test_the_labels_are_those_of_the_documents(catalogue: Catalog, english: str, label: str) -> None:
    message = catalogue.get(english)
    assert message
    assert message.string == label


def test_placeholders_survive_translation(catalogue: Catalog) -> None:
    for message in catalogue:
        source = message.id if isinstance(message.id, (tuple, list)) else [message.id]
        assert placeholders("".join(source)) >= placeholders("".join(translated(message)))


def placeholders(text: str) -> set[str]:
    return {piece.split(")")[0] for piece in text.split("%(")[1:]}
