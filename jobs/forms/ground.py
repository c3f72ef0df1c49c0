"""A template of a start command, filled in with what the form holds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from jobs.command.templates import Filled, Ground, Template, filled
from jobs.forms.job import JobForm


def template_filled(form: JobForm, template: Template) -> Filled:
    """With the first mount path that can be written to, the name of the job, and the command so far."""
    spec = form.job_spec()
    read_only = {grant.volume_id for grant in form.offer.volumes if grant.read_only}
    folders = [mount.mount_path for mount in spec.mounts if mount.volume not in read_only]
    text = filled(template, Ground(next(iter(folders), ""), spec.name.strip(), spec.command))
    return replace(text, text=text.text.rstrip("\n"))


def with_template(form: JobForm) -> JobForm:
    """The form with the template in its command that one of its buttons asks for; else the same form."""
    asked = form.data.get("template")
    if asked not in set(Template):
        return form
    text = template_filled(form, Template(asked))
    before = form.job_spec().command
    typed: Any = form.data
    data = typed.copy()
    data["command"] = text.text if text.whole else f"{before.rstrip()}\n\n{text.text}"
    return JobForm(form.user, data, form.offer)
