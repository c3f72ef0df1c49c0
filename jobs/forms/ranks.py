"""The variables of each Worker as the page shows them, and where each comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from jobs.environment import BASE_NAMES, injected_names
from jobs.estimate import Estimate
from jobs.spec import JobSpec
from jobs.states import Framework
from jobs.texts import injected_text

LONGEST = 200


@dataclass(frozen=True, slots=True)
class Shown:
    """`value` is None for what is private, or known only once the Worker was placed."""

    name: str
    value: str | None
    private: bool
    injected: bool


@dataclass(frozen=True, slots=True)
class RankPreview:
    """What all Workers have, what the first of them have of their own (in the order of their ranks, each with
    the variables of `columns`), and the names that lie below: they hold unless the page sets them."""

    common: tuple[Shown, ...]
    columns: tuple[str, ...]
    ranks: tuple[tuple[Shown, ...], ...]
    below: tuple[str, ...]
    injected: tuple[tuple[str, str], ...]  # names, and what they hold


def ranks_of(spec: JobSpec, judged: Estimate) -> RankPreview:
    injected = injected_names(spec.framework) if spec.framework in set(Framework) else ()
    private = {v.name for v in spec.env if v.private}

    def shown(values: Mapping[str, str | None]) -> tuple[Shown, ...]:
        return tuple(
            Shown(name, _cut(value), name in private, name in injected) for name, value in values.items()
        )

    ranks = tuple(shown(dict(sorted(values.items(), key=_width))) for values in judged.environment_ranks)
    return RankPreview(
        common=shown(judged.environment_common),
        columns=tuple(one.name for one in ranks[0]) if ranks else (),
        ranks=ranks,
        below=tuple(name for name in BASE_NAMES if name not in judged.environment_common),
        injected=tuple((name, injected_text(name)) for name in injected),
    )


def _width(item: tuple[str, str | None]) -> int:
    """The narrowest columns first: a summary is narrow too."""
    return len(item[0])


def _cut(value: str | None) -> str | None:
    return value if value is None or len(value) <= LONGEST else value[:LONGEST] + "…"
