from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _

from teams import checks  # noqa: F401  # registers them


class TeamsConfig(AppConfig):
    name = "teams"
    verbose_name = _("Teams")
