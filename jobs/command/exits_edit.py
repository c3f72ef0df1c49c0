"""Changes of a command at certain bytes, and as the change of whole lines that a person is shown. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jobs.command.exits_tree import Part, Source
from jobs.findings import Fix


@dataclass(frozen=True, slots=True)
class Edit:
    """Bytes of a source, and what comes into their place."""

    source: Source
    start: int
    end: int
    text: str


def before(part: Part, text: str) -> Edit:
    return Edit(part.source, part.start, part.start, text)


def after(part: Part, text: str) -> Edit:
    return Edit(part.source, part.end, part.end, text)


def instead(part: Part, text: str) -> Edit:
    return Edit(part.source, part.start, part.end, text)


def indent_of(source: Source, place: int) -> str | None:
    """The blanks before a place in its line; None if something else stands there."""
    line = source.data[source.data.rfind(b"\n", 0, place) + 1 : place]
    return None if line.strip() else line.decode(errors="replace")


def has_heredoc(part: Part) -> bool:
    """Whether a here-document begins in the lines of a part: then nothing can be put in behind it."""
    line_end = part.source.data.find(b"\n", part.end)
    end = len(part.source.data) if line_end < 0 else line_end
    return any(part.start <= heredoc.start <= end for heredoc in part.source.heredocs)


def changed(command: str, edits: Sequence[Edit]) -> str | None:
    """The command with the changes; None if one of them cannot be made where the source stands."""
    data = command.encode(errors="surrogatepass")
    places = [((edit.source.at or 0) + edit.start, number) for number, edit in enumerate(edits)]
    for _, number in sorted(places, reverse=True):
        edit = edits[number]
        at = edit.source.at
        if at is None or not _may_stand(edit):
            return None
        data = data[: at + edit.start] + edit.text.encode() + data[at + edit.end :]
    return data.decode(errors="surrogatepass")


def _may_stand(edit: Edit) -> bool:
    """Within quotes only what means the same there as outside."""
    forbidden = {"'": "'", '"': '"$`\\'}
    return not any(sign in edit.text for quote in edit.source.quote for sign in forbidden.get(quote, ""))


def fix_between(old: str, new: str) -> Fix:
    """The lines in which two commands differ. They do differ, and not only by lines that are left out."""
    olds, news = old.split("\n"), new.split("\n")
    most = min(len(olds), len(news))
    first = next((i for i in range(most) if olds[i] != news[i]), most)
    last = next((i for i in range(most - first) if olds[-1 - i] != news[-1 - i]), most - first)
    if first == len(olds):
        first -= 1
    return Fix(
        "command",
        "\n".join(olds[first : len(olds) - last]),
        "\n".join(news[first : len(news) - last]),
        first + 1,
    )
