"""What the templates of start commands are called, and what each is for."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _

from jobs.command.templates import Template

TEMPLATE_MENU: tuple[tuple[Template, Any, Any], ...] = (
    (Template.LOG, _("Keep a log on the volume"), _("a file for each Worker; a failure stays a failure")),
    (Template.UPLOAD, _("Copy results afterwards"), _("after a failure too, and with its exit code")),
    (
        Template.KEEP,
        _("Keep the place after a failure"),
        _("files go to the volume, the GPUs are held for 10 minutes, then the same exit code"),
    ),
    (
        Template.TORCHRUN,
        _("torchrun on all Workers"),
        _("with the injected variables; needs the framework PyTorch DDP"),
    ),
    (
        Template.RESUME,
        _("Go on from the latest checkpoint"),
        _("finds the newest file and hands it on as RESUME_FROM"),
    ),
    (
        Template.PREPARE,
        _("Prepare once, the others wait"),
        _("Worker 0 prepares; a file on the volume tells the others to begin"),
    ),
)
