"""What a form starts from: nothing, the example, or an earlier job."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.utils import timezone
from django.utils.datastructures import MultiValueDict
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from jobs.forms.alerts import alert_values
from jobs.forms.following import Following, rdma_settled
from jobs.forms.job import JobForm
from jobs.forms.laid_aside import Aside
from jobs.forms.names import Names
from jobs.forms.notes import ALL_TOUCHED
from jobs.forms.offer import Offer, offer_read, offer_start
from jobs.forms.tags import tags_text
from jobs.forms.taking_over import pool_adopted, taken_over
from jobs.forms.variables import row_values
from jobs.models import Job
from jobs.private import private_read
from jobs.rerun import Repeater, allowed_to
from jobs.services import may_stop
from jobs.spec import EnvVar, JobSpec
from jobs.states import Framework, Priority, State
from jobs.texts import following_text, not_replaced_text
from storage.models import VolumeGrant
from teams.models import User

Values = dict[str, list[Any]]

GENERAL_EXAMPLE = """\
echo "Worker $RANK of $WORLD_SIZE, meeting at $MASTER_ADDR:$MASTER_PORT"
python3 - <<'PY'
import platform, time
for step in range(1, 6):
    print(f"step {step} on {platform.node()}", flush=True)
    time.sleep(1)
PY
"""


@dataclass(frozen=True, slots=True)
class Start:
    """Values as a browser would send them, what can be chosen, and sentences about what was left out."""

    values: MultiValueDict[str, Any]
    offer: Offer
    notices: tuple[str, ...] = ()


def start_new(user: User, team_id: int | None, pool_id: int | None = None) -> Start:
    """The pool asked for, else the team's first, with what leaves no choice."""
    offer = offer_start(user, team_id, pool_id)
    return Start(MultiValueDict(_new(offer)), offer)


def start_example(user: User, team_id: int | None) -> Start:
    """Two Workers that work together: digit recognition where the demo put it, else a few lines of shell."""
    offer = offer_start(user, team_id)
    values = _new(offer)
    smallest = min(offer.cards, key=lambda card: card.spec.gpus, default=None)
    folder = next((g.volume.default_mount_path for g in offer.volumes if _has_digits(g)), None)
    values |= {
        "spec": [smallest.spec.id if smallest else ""],
        "worker_count": ["2"],
        "framework": [Framework.PYTORCH_DDP.value],
        "image": values["image"] if any(values["image"]) else [next((i.pk for i in offer.images), "")],
        "name": [_("example")],
        "touched": [ALL_TOUCHED],
        "command": [f"sh {folder}/digits/run.sh" if folder else GENERAL_EXAMPLE],
    }
    if folder:
        run = timezone.now().strftime("%Y%m%d-%H%M%S")
        values |= row_values([EnvVar("OUTPUT_DIR", f"{folder}/outputs/digits-{run}")])
    return Start(MultiValueDict(values), offer)


def start_from(user: User, job: Job, *, replace_it: bool = False, adopt: str = "") -> Start:
    """What an earlier job asked for. What is not there any more is left out, each with a sentence. With
    `replace_it` the new job is to take its place, which only a waiting one gives up. `adopt` are values of
    an alternative, as JSON."""
    offer = offer_read(user, job.team_id, pool_adopted(adopt) or job.pool_id)
    repeater = Repeater(offer.may_use_high, {channel.id for channel in offer.channels})
    spec, allowed = allowed_to(repeater, job.spec_to_repeat)
    values = _new(offer) | asked_values(spec) | {"origin": [job.key]}
    may = replace_it and may_stop(user=user, job=job)
    if may and job.state == State.QUEUED:
        values["replaces"] = ["1"]
    told = _variables(user, job, spec, values)
    posted, _undo = taken_over(_posted(values), adopt)
    left = Following(user, posted, offer, Names(user, _known(job))).run()
    form, rdma = rdma_settled(JobForm(user, left.values, left.offer))
    said = [following_text(change.code, change.data) for change in (*left.told, *rdma, *allowed)]
    kept: Any = form.data
    if replace_it and "replaces" not in values:
        told.insert(0, not_replaced_text(job, may=may))
    return Start(kept, left.offer, (*said, *told))


def _posted(values: Values) -> MultiValueDict[str, Any]:
    posted = {name: ["" if one is None else str(one) for one in some] for name, some in values.items()}
    return MultiValueDict(posted)


def _new(offer: Offer) -> Values:
    suggested = [grant for grant in offer.volumes if grant.suggested]
    return alert_values(offer.usual_alerts) | {
        "team": [offer.team or ""],
        "pool": [offer.pool.id if offer.pool else ""],
        "spec": [offer.cards[0].spec.id if len(offer.cards) == 1 else ""],
        "worker_count": ["1"],
        "image": [offer.images[0].pk if len(offer.images) == 1 else ""],
        "framework": [Framework.SINGLE.value],
        "mount_volume": [str(grant.volume_id) for grant in suggested],
        "mount_path": [grant.volume.default_mount_path for grant in suggested],
        "priority": [Priority.NORMAL.label_code],
        "max_restarts": ["1"],
        "hang_timeout_seconds": ["1800"],
        "start_policy": ["queue"],
        "stop_grace_seconds": ["30"],
        "keep_after_failure_minutes": ["0"],
        "token": [str(uuid4())],
    }


def _has_digits(grant: VolumeGrant) -> bool:
    folder = str(Path(settings.DATA_DIR, settings.DEMO_EXAMPLE))
    return bool(settings.DEMO and grant.volume.path == folder and not grant.read_only)


def asked_values(spec: JobSpec) -> Values:
    """A request as the form's values; switches that are off are not sent at all."""
    switches = {"rdma": spec.rdma, "public_data": spec.public_data, "custom": spec.custom}
    switches |= {"auto_restart": spec.auto_restart, "hang_detection": spec.hang_detection}
    switches |= {"env_check": spec.env_check}
    return {
        "pool": [spec.pool or ""],
        "spec": [spec.spec or ""],
        "worker_count": [str(spec.workers_wanted)],
        "custom_gpus": [spec.custom_gpus or ""],
        "flavor": [spec.flavor or ""],
        "image": [spec.image or ""],
        "framework": [spec.framework],
        "max_restarts": [str(spec.max_restarts)],
        "hang_timeout_seconds": [str(spec.hang_timeout_seconds)],
        "hang_action": [spec.hang_action or ""],
        "command": [spec.command],
        "mount_volume": [str(m.volume) for m in spec.mounts],
        "mount_path": [m.mount_path for m in spec.mounts],
        **({} if spec.alerts is None else alert_values(spec.alerts)),
        "name": [spec.name],
        "description": [spec.description],
        "tags": [tags_text(spec.tags)],
        "priority": [spec.priority],
        "max_runtime_minutes": [spec.max_runtime_minutes or ""],
        "max_queue_minutes": [spec.max_queue_minutes or ""],
        "start_policy": [spec.start_policy],
        "stop_grace_seconds": [str(spec.stop_grace_seconds)],
        "keep_after_failure_minutes": [str(spec.keep_after_failure_minutes)],
        "touched": [ALL_TOUCHED],
        **{name: ["on"] for name, on in switches.items() if on},
    }


def _known(job: Job) -> dict[tuple[str, int], Aside]:
    """What the job's things were called: they may be out of sight by now."""
    frozen = job.frozen
    named = [
        ("pool", frozen["pool"], ""),
        ("image", frozen["image"] | {"name": frozen["image"]["reference"]}, ""),
    ]
    if frozen["spec"]:
        named.append(("spec", frozen["spec"], str(frozen["spec"]["gpus"])))
    known = {
        (field, one["id"]): Aside(field, str(one["id"]), one["name"], more) for field, one, more in named
    }
    mounts = [Aside("mounts", str(m["volume"]), m["name"], m["mount_path"]) for m in frozen["mounts"]]
    return known | {("mounts", int(mount.value)): mount for mount in mounts}


def _variables(user: User, job: Job, spec: JobSpec, values: Values) -> list[str]:
    """Private values go into the form of whoever entered them; for others they are kept unread, and so are
    those that nobody can read any more: the rules refuse them until something is entered."""
    own = private_read(job=job, user=user)
    values |= row_values(_started(variable, own, job) for variable in spec.env)
    told = []
    if kept := [v.name for v in spec.env if v.private and v.name not in own]:
        told.append(
            _(
                "Private values of %(job)s are used again without being shown, as long as team, zone, image, "
                "command, framework, volumes, public data and all variables stay as they are: %(names)s. "
                "Otherwise enter your own."
            )
            % {"job": job.key, "names": _listed(kept)}
        )
    if lost := [name for name, value in own.items() if value is None]:
        told.append(
            _("These private values cannot be decrypted any more; enter them anew: %(names)s.")
            % {"names": _listed(lost)}
        )
    return told


def _started(variable: EnvVar, own: Mapping[str, str | None], job: Job) -> EnvVar:
    if not variable.private:
        return variable
    if (value := own.get(variable.name)) is not None:
        return replace(variable, value=value)
    return replace(variable, value=None, from_job=job.key)


def _listed(names: Sequence[str]) -> str:
    return pgettext("between entries", ", ").join(names)
