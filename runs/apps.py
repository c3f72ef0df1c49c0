from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

from runs import checks  # noqa: F401  # registers them


class RunsConfig(AppConfig):
    name = "runs"
    verbose_name = _("Runs")
