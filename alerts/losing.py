"""The rules that end with a channel, or with who may use it: counted before, and told to whose they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q, QuerySet

from alerts.models import Channel, Rule
from alerts.rules import CHANNEL_GONE, CHANNEL_UNSHARED, Subject
from alerts.services import NewNotice, notices_post
from alerts.subjects import living
from teams.models import Membership, Team, User


@dataclass(frozen=True, slots=True)
class Loss:
    """Rules that end: `own` and `others` (name and number) of what new jobs begin with, those of `jobs` that
    have not ended, and those of administrators."""

    own: int
    others: Sequence[tuple[str, int]]
    jobs: int
    admins: int

    def __bool__(self) -> bool:
        return bool(self.own or self.others or self.jobs or self.admins)

    @property
    def others_count(self) -> int:
        return sum(n for _name, n in self.others)


def rules_ended_by(channel: Channel, team: Team | None) -> QuerySet[Rule]:
    """The rules that end when the channel, shared as it is kept now, is shared with `team`, or None: is its
    owner's alone. Of what new jobs begin with, those of persons who may not use it then. Of jobs, those that
    others asked for if it becomes private, and all if it goes to another team, as the jobs are not that
    team's. The rules of a private channel stay: the jobs of another team are not told there meanwhile."""
    users = [channel.owner_id]
    if team is not None:
        users += Membership.objects.filter(team=team).values_list("user", flat=True)
    persons = Q(subject=Subject.PERSON) & ~Q(subject_id__in=users)
    jobs = Q(subject=Subject.JOB)
    if team is None:
        jobs &= ~Q(author=channel.owner_id)
    moves = channel.team_id is not None and channel.team_id != (team.pk if team else None)
    return Rule.objects.filter(persons | jobs if moves else persons, channel=channel)


def loss_read(rules: Iterable[Rule], user: User) -> Loss:
    """What these rules are, for the user who is asked."""
    listed = list(rules)
    persons = _of_persons(listed)
    names = User.objects.filter(pk__in=persons).exclude(pk=user.pk).order_by("username")
    return Loss(
        own=persons[user.pk],
        others=[(name, persons[pk]) for pk, name in names.values_list("pk", "username")],
        jobs=sum(_of_jobs(listed).values()),
        admins=sum(rule.subject in (Subject.POOL, Subject.MACHINE) for rule in listed),
    )


def loss_tell(*, channel: Channel, rules: Iterable[Rule], actor: User, gone: bool, at: datetime) -> None:
    """Those whose rules end hear of it behind the bell, but not who does it; in the caller's transaction."""
    listed = list(rules)
    lost = _of_jobs(listed) + _of_persons(listed)
    code = CHANNEL_GONE if gone else CHANNEL_UNSHARED
    people = set(User.objects.filter(pk__in=lost).values_list("pk", flat=True))
    notices_post(
        [
            NewNotice(
                key=f"channel:{channel.pk}:{code}:{user}:{at.isoformat()}",
                codes=(code,),
                subject=Subject.CHANNEL,
                subject_id=channel.pk,
                at=at,
                data={"name": channel.name, "rules": n},
                readers=(user,),
            )
            for user, n in sorted(lost.items())
            if user in people and user != actor.pk
        ]
    )


def _of_persons(rules: Sequence[Rule]) -> Counter[int]:
    ids = (rule.subject_id for rule in rules if rule.subject == Subject.PERSON)
    return Counter(pk for pk in ids if pk is not None)


def _of_jobs(rules: Sequence[Rule]) -> Counter[int]:
    """By their creators: the rules of jobs that have not ended."""
    ids = [rule.subject_id for rule in rules if rule.subject == Subject.JOB and rule.subject_id is not None]
    creators = living(Subject.JOB, ids) if ids else {}
    return Counter(creators[pk] for pk in ids if pk in creators)
