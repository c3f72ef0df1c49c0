"""What all tests share: fast passwords, a database file, no broker, and a REST client."""

from collections.abc import Callable, Iterator

import pytest
from celery import current_app
from django.conf import settings
from django.core.management import call_command
from django.utils import translation
from rest_framework.test import APIClient

from pools.models import ENGINE_IMAGES
from teams.models import User


def pytest_configure() -> None:
    """Settings in which tests differ from the console."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.STATIC_ROOT.mkdir(exist_ok=True)
    current_app.conf.broker_url = "memory://localhost/"  # hints may be lost; a test calls the task itself


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> None:
    """SQLite in a file: threads of a test then wait for each other's writes as in the console."""
    if settings.DATABASES["default"]["ENGINE"].endswith("sqlite3"):
        settings.DATABASES["default"]["TEST"]["NAME"] = str(settings.DATA_DIR / "test.sqlite3")


@pytest.fixture(autouse=True)
def english() -> Iterator[None]:
    """Each test starts in English: a request of the last one may have left another language."""
    with translation.override("en"):
        yield


@pytest.fixture
def any_image(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pools can run any image, as those of an engine that pulls from registries."""
    monkeypatch.setitem(ENGINE_IMAGES, "local", ())


@pytest.fixture
def chinese() -> None:
    """The texts of this checkout, not those of an earlier run."""
    call_command("compile_catalogues")
    translation.trans_real._translations.clear()


@pytest.fixture
def api() -> Callable[[User], APIClient]:
    """Makes a REST client that acts for a user."""

    def make(user: User) -> APIClient:
        client = APIClient()
        client.force_authenticate(user)
        return client

    return make
