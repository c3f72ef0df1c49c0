"""By what the list of jobs is narrowed down, as it stands in an address."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from django.db.models import Exists, OuterRef, Q
from django.utils.http import urlencode

from jobs.models import JobTag
from jobs.querysets import JobQuerySet
from jobs.states import State
from teams.models import User
from teams.pages import plain_id

DAYS = {"today": 1, "7": 7, "30": 30}  # that many days of the viewer, today among them
RANGE = "range"
YEARS = range(2000, 3000)
LONGEST = {"search": 200, "creator": 150, "tag": 63}


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """What is asked for; empty stands for everything. `begin` and `end` count with `created="range"` only."""

    state: str = ""
    mine: str = ""
    pool: str = ""
    creator: str = ""
    tag: str = ""
    created: str = ""
    begin: str = ""
    end: str = ""
    search: str = ""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> JobFilter:
        """What can be understood of an address; the rest of it asks for nothing."""
        given = {name: query.get(name, "").strip()[:most] for name, most in LONGEST.items()}
        begin, end = _day(query.get("from")), _day(query.get("to"))
        created = query.get("created", RANGE if begin or end else "")
        return cls(
            state=_one_of(query.get("state"), set(State)),
            mine="1" if query.get("mine") == "1" and not given["creator"] else "",
            pool=_number(query.get("pool")),
            created=_one_of(created, {*DAYS, RANGE}),
            begin=str(begin or "") if created == RANGE else "",
            end=str(end or "") if created == RANGE else "",
            **given,
        )

    def with_(self, **changes: str) -> JobFilter:
        return replace(self, **changes)

    @property
    def query(self) -> dict[str, str]:
        """As parameters of an address, without those that ask for nothing."""
        names = {"begin": "from", "end": "to"}
        return {names.get(name, name): value for name, value in asdict(self).items() if value}

    def address(self, **more: str) -> str:
        return "?" + urlencode(self.query | {name: value for name, value in more.items() if value})

    @property
    def narrows(self) -> bool:
        return bool(self.query)

    def days(self, today: date) -> tuple[date | None, date | None]:
        """The first day asked for and the last, as far as there are any."""
        if self.created in DAYS:
            return today - timedelta(days=DAYS[self.created] - 1), None
        return _day(self.begin), _day(self.end)

    def but_state(self, jobs: JobQuerySet, user: User, zone: ZoneInfo, now: datetime) -> JobQuerySet:
        """The jobs to which all applies that is asked for, in whatever state they are."""
        if self.mine:
            jobs = jobs.filter(creator=user)
        if self.pool:
            jobs = jobs.filter(pool=int(self.pool))
        if self.creator:
            jobs = jobs.filter(creator__username=self.creator)
        if self.tag:
            jobs = jobs.filter(Exists(JobTag.objects.filter(job=OuterRef("pk"), name=self.tag)))
        first, last = self.days(now.astimezone(zone).date())
        if first:
            jobs = jobs.filter(created_at__gte=_midnight(first, zone))
        if last:
            jobs = jobs.filter(created_at__lt=_midnight(last + timedelta(days=1), zone))
        return jobs.filter(_search(self.search)) if self.search else jobs


def _search(words: str) -> Q:
    tagged = Exists(JobTag.objects.filter(job=OuterRef("pk"), name__icontains=words))
    return Q(name__icontains=words) | Q(key=words) | Q(tagged) | Q(creator__username__iexact=words)


def _midnight(day: date, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, time(), zone).astimezone(UTC)


def _day(text: str | None) -> date | None:
    try:
        day = date.fromisoformat(text or "")
    except ValueError:
        return None
    return day if day.year in YEARS else None


def _number(text: str | None) -> str:
    return text if text and plain_id(text) is not None else ""


def _one_of(text: str | None, choices: set[str]) -> str:
    return text if text in choices else ""
