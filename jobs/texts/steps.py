"""Words for deploy steps."""

from __future__ import annotations

from django.utils.translation import gettext_lazy

from jobs.states import DeployStep

STEP_LABELS = {
    DeployStep.ALLOCATE: gettext_lazy("allocate resources"),
    DeployStep.STORAGE: gettext_lazy("prepare storage"),
    DeployStep.INITIALIZE: gettext_lazy("initialize"),
    DeployStep.PULL_IMAGE: gettext_lazy("pull image"),
    DeployStep.ENV_CHECK: gettext_lazy("environment check"),
}
