"""Fills a demo console with what a busy one has: pools of every size, other teams' jobs, images, volumes.

Run inside the console's Django: `manage.py shell -c "from tests.e2e.furnish import furnish; furnish()"`.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone

from alerts.models import Channel, Delivery, Rule
from jobs.models import Job
from pools.models import Node, NodeState, Pool, Zone
from pools.services import node_set_state
from teams.models import Team, User
from teams.vault import encrypt
from tests.alerts.notices import make_notice
from tests.factories import host_image, make_image, make_job, make_pool, make_volume, make_zone, occupy

OUT = (NodeState.CORDONED, NodeState.DOWN, NodeState.CORDONED)


def furnish() -> None:
    """Once; names are those of a console in Chinese, as most of its readers are."""
    alice, carol = User.objects.get(username="alice"), User.objects.get(username="carol")
    mine, theirs = (user.memberships.get().team for user in (alice, carol))
    north, south = make_zone("华北一区", public_data="/srv/public"), make_zone("华南二区")
    large = make_pool(mine, theirs, name="A800-生产", zone=north, nodes=64, network="roce", max_gpus=256)
    small = make_pool(mine, name="H20-研发", zone=south, nodes=12, network="ib", paused=True)
    huge = make_pool(mine, theirs, name="通用大池", zone=north, nodes=1250)
    occupy(large, [(7 * n) % 9 for n in range(64)])
    occupy(small, [8, 8, 3, 0, 5])
    occupy(huge, [8 if n % 3 else n % 8 for n in range(1200)])
    _out_of_order(small)
    _periods(large, small)
    _images(mine, north, south)
    make_volume(north, mine, name="datasets", read_only=True, suggested=False, default_mount_path="/mnt/data")
    _bad_volume(mine)
    _queue(large, alice, carol)
    _alerts(alice, mine)


def _bad_volume(mine: Team) -> None:
    """Nobody can write there: where it is mounted, an environment check fails."""
    zone = Zone.objects.get(name="demo-zone")
    fields = {"path": "/sys/module", "default_mount_path": "/mnt/scratch"}
    make_volume(zone, mine, name="scratch", suggested=False, **fields)


def _out_of_order(pool: Pool) -> None:
    nodes = Node.objects.filter(flavor__pool=pool).order_by("name")
    for name, state in zip(nodes.values_list("name", flat=True)[5:8], OUT, strict=True):
        node_set_state(nodes=nodes.filter(name=name), state=state)


def _periods(large: Pool, small: Pool) -> None:
    today = timezone.localdate()
    Node.objects.filter(flavor__pool=large).update(prepaid_until=today + timedelta(days=120))
    Node.objects.filter(flavor__pool=small).update(prepaid_until=today + timedelta(days=14))


def _images(mine: Team, north: Zone, south: Zone) -> None:
    host_image(north, south)
    make_image(north, reference="registry.example/preset/pytorch:2.4-cu124")
    make_image(south, reference="registry.example/preset/pytorch:2.4-cu124-ib")
    make_image(
        north,
        team=mine,
        reference="registry.example/vision/segmentation-with-a-rather-long-name:2026-11-30",
        services=["dev_machine", "inference"],
    )


def _alerts(alice: User, team: Team) -> None:
    """Channels with a record, and a rule whose channel is disabled: nothing is sent anywhere."""
    group = _channel(alice, "feishu", "GPU 告警群", "https://open.feishu.cn", team=team)
    _channel(alice, "email", "值班邮箱", "on-call@example.org")
    gone = _channel(alice, "webhook", "ci", "https://ci.example.org", disabled_at=timezone.now())
    refused = {"code": "status", "data": {"status": 410}}
    for channel, state, tries, error in (
        (group, "sent", 1, None),
        (group, "given_up", 9, {"code": "timeout", "data": {"seconds": 10.0}}),
        (group, "sent", 2, None),
        (gone, "refused", 1, refused),
    ):
        notice = make_notice(alice, team=team, name="llm-70b-预训练")
        values = {"channel_name": channel.name, "kind": channel.kind, "state": state, "tries": tries}
        Delivery.objects.create(notice=notice, channel=channel, error=error, **values)
    events = ["failed", "hang_suspected", "queued_too_long"]
    Rule.objects.create(channel=gone, subject="person", subject_id=alice.pk, events=events, minutes=45)


def _channel(owner: User, kind: str, name: str, shown: str, **fields: Any) -> Channel:
    target, secret = encrypt("http://127.0.0.1:9/"), encrypt("s")
    values = {"kind": kind, "name": name, "shown": shown, "target": target, "secret": secret}
    return Channel.objects.create(owner=owner, **values | fields)


def _queue(pool: Pool, alice: User, carol: User) -> None:
    """Jobs that wait, the first since some hours."""
    jobs = [
        make_job(alice, pool, gpus=8, workers=32, name="llm-70b-预训练", priority="high"),
        make_job(carol, pool, gpus=8, workers=32, name="a name that no other team may read"),
        make_job(alice, pool, gpus=8, workers=24, name="sft-a", tags=("sft", "7b")),
    ]
    Job.objects.filter(pk=jobs[0].pk).update(created_at=timezone.now() - timedelta(hours=2, minutes=10))
