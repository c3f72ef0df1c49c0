"""Scripts within a command: of `bash -c '…'`, `eval '…'`, `trap '…' EXIT`, `bash <<'EOF'`. Pure."""

from __future__ import annotations

import re

from jobs.command.exits_reading import read
from jobs.command.exits_tree import Heredoc, Part, Program, Source, Word

_QUOTED_END = re.compile(rb"<<-?[ \t]*['\"\\]")


class Inner:
    """Reads each of them once, so that its statements stay the same objects however often it runs."""

    def __init__(self) -> None:
        self._known: dict[Part, Program | None] = {}

    def program_of(self, source: Source) -> Program | None:
        """The program that was read from a source."""
        return next((known for known in self._known.values() if known and known.source is source), None)

    def of_word(self, word: Word) -> Program | None:
        """Of a word that is written out; None if it is not, or too long."""
        if word not in self._known:
            literal = word.literal
            self._known[word] = None if literal is None else read(literal, _source(word, literal))
        return self._known[word]

    def of_text(self, part: Part, text: str) -> Program | None:
        """Of a text that was made from a part: its places are those of the part's line."""
        if part not in self._known:
            self._known[part] = read(text, Source(text.encode(errors="replace"), part.line, None))
        return self._known[part]

    def of_heredoc(self, part: Part) -> Program | None:
        """Of the here-document that a command reads; None if it has none, or bash changes it before."""
        if part not in self._known:
            heredoc = _heredoc_of(part)
            self._known[part] = None if heredoc is None else _read_body(part.source, heredoc)
        return self._known[part]


def _source(word: Word, literal: str) -> Source:
    data = literal.encode(errors="surrogatepass")
    outer = word.source
    same = outer.data[word.start + 1 : word.end - 1] == data
    quote = outer.piece(word.start, word.start + 1)
    at = outer.at + word.start + 1 if outer.at is not None and same and quote in {"'", '"'} else None
    return Source(data, word.line, at, outer.quote + quote)


def _heredoc_of(part: Part) -> Heredoc | None:
    data = part.source.data
    for heredoc in part.source.heredocs:
        between = data[part.end : heredoc.start] if heredoc.start >= part.end else b""
        if heredoc.start > part.start and not between.strip(b" \t\\") and b"\n" not in between:
            return heredoc
    return None


def _read_body(source: Source, heredoc: Heredoc) -> Program | None:
    body = source.data[heredoc.body_start : heredoc.body_end]
    as_it_is = _QUOTED_END.match(source.data, heredoc.start)
    if not as_it_is and re.search(rb"[$`\\]", body):
        return None
    at = None if source.at is None else source.at + heredoc.body_start
    inner = Source(body, source.line_of(heredoc.body_start), at, source.quote + ("" if as_it_is else '"'))
    return read(body.decode(errors="replace"), inner)
