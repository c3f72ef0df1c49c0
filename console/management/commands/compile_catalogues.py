"""Compiles the translations with Babel, so that no gettext tools are needed."""

import os
from pathlib import Path
from typing import Any

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from django.conf import settings
from django.core.management.base import BaseCommand


class Command(BaseCommand):
    help = "Writes a .mo file beside each .po file that is newer."
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        for folder in settings.LOCALE_PATHS:
            for source in sorted(Path(folder).glob("*/LC_MESSAGES/*.po")):
                compile_catalogue(source)


def compile_catalogue(source: Path) -> None:
    target = source.with_suffix(".mo")
    if target.exists() and target.stat().st_mtime >= source.stat().st_mtime:
        return
    with source.open("rb") as text:
        catalogue = read_po(text)
    written = target.with_suffix(f".mo.{os.getpid()}")  # two consoles may start at once
    with written.open("wb") as binary:
        write_mo(binary, catalogue)
    written.replace(target)
