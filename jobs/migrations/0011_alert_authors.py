"""Rules of jobs get their authors: the jobs' creators, as nobody wrote down who else changed them."""

from typing import Any

from django.db import migrations
from django.db.models import OuterRef, Subquery


def authors_fill(apps: Any, _editor: Any) -> None:
    creator = apps.get_model("jobs", "Job").objects.filter(pk=OuterRef("subject_id")).values("creator")
    rules = apps.get_model("alerts", "Rule").objects.filter(subject="job", author=None)
    rules.update(author=Subquery(creator[:1]))


class Migration(migrations.Migration):
    dependencies = [
        ("alerts", "0004_rule_author"),
        ("jobs", "0010_kept_files"),
    ]

    operations = [migrations.RunPython(authors_fill, migrations.RunPython.noop)]
