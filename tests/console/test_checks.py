"""What production refuses."""

import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError

from engines.base import Protection
from runs import checks
from tests.factories import make_user


@pytest.fixture
def production(settings):
    settings.PRODUCTION = True
    settings.SANDBOX = "auto"
    return settings


class Unprotected:
    """An engine on a machine without user namespaces."""

    def protection(self):
        return Protection("none", "no user namespaces")


@pytest.mark.django_db
def test_demo_users_are_refused(production):
    make_user(name="alice")
    with pytest.raises(SystemCheckError, match="demo users may sign in: alice"):
        call_command("check", databases=["default"])


@pytest.mark.django_db
def test_other_passwords_and_users_are_not(production):
    alice = make_user(name="alice")
    alice.set_password("long and private")
    alice.save()
    make_user(name="somebody")
    call_command("check", databases=["default"])


def test_unprotected_jobs_are_refused(production, monkeypatch):
    monkeypatch.setattr(checks, "engine_of", lambda kind: Unprotected())
    assert [error.id for error in checks.sandbox_check(None)] == ["runs.E001"]
    production.SANDBOX = "none"
    assert checks.sandbox_check(None) == []
