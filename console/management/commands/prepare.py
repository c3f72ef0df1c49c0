"""All that has to be done before the console starts, in one process: starting Django takes longer than it."""

from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand


class Command(BaseCommand):
    help = "Migrates, compiles the translations, collects static files and, with DEMO=1, adds demo data."

    def handle(self, *args: Any, **options: Any) -> None:
        call_command("migrate", interactive=False, verbosity=options["verbosity"])
        call_command("compile_catalogues")
        call_command("collectstatic", interactive=False, verbosity=0)
        if settings.DEMO:
            call_command("demo")
        call_command("check", databases=["default"])
