from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules
from django.utils.translation import gettext_lazy as _


class AlertsConfig(AppConfig):
    name = "alerts"
    verbose_name = _("Alerts")

    def ready(self) -> None:
        """Each app's `tellings` register how its notices are told: alerts know none of them by name."""
        autodiscover_modules("tellings")
