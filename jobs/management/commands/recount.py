"""Compares the kept counts with what holds and jobs say."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from jobs.counting import counts_compare, counts_mend
from pools.models import Pool
from pools.services import pool_lock


class Command(BaseCommand):
    help = "Recounts idle GPUs, waiting totals and held GPUs of every pool. --fix writes the counts anew."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--fix", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        wrong = 0
        for pool in Pool.objects.all():
            with transaction.atomic():
                pool_lock(pool_id=pool.pk)
                differences = counts_compare(pool_id=pool.pk)
                if options["fix"] and differences:
                    counts_mend(pool_id=pool.pk)
            for d in differences:
                self.stdout.write(f"{pool.name}: {d.what} of {d.name} is {d.kept}, counted {d.counted}")
            wrong += len(differences)
        if wrong and not options["fix"]:
            raise CommandError(f"{wrong} counts are wrong; --fix writes them anew")
        self.stdout.write(f"{wrong} counts mended" if wrong else "all counts are right")
