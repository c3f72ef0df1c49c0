"""Something to start with: users, a pool that stands for this machine, volumes and an example job."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from console.demo import rows_make
from console.demo_files import files_make


class Command(BaseCommand):
    help = "Makes what is missing of the demo; whatever people changed stays. Refused where DEMO=0."

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.DEMO:
            raise CommandError("Demo users have a password that everybody knows; DEMO=0 forbids them here.")
        made = rows_make() + files_make()
        self.stdout.write("\n".join(f"made {line}" for line in made) or "the demo is complete")
