"""Every admin page opens, and what must not be seen there is not."""

import pytest
from django.contrib import admin
from django.contrib.admin.utils import quote
from django.urls import reverse

from console.demo import rows_make
from jobs.models import IdempotencyKey, PrivateValue, WaitingTotal
from pools.models import Hold, Pool
from teams.models import User
from teams.services import token_create
from tests.factories import make_job

pytestmark = pytest.mark.django_db


@pytest.fixture
def root(settings, tmp_path, admin_client):
    settings.DATA_DIR = tmp_path
    rows_make()
    token_create(user=User.objects.get(username="alice"))
    make_job(User.objects.get(username="alice"), Pool.objects.get())
    return admin_client


def registered():
    return sorted(admin.site._registry, key=lambda model: model._meta.label)


@pytest.mark.parametrize("model", registered(), ids=lambda model: model._meta.label)
def test_pages_open(root, model):
    page = f"admin:{model._meta.app_label}_{model._meta.model_name}"
    assert root.get(reverse(f"{page}_changelist"), {"q": "a"}).status_code == 200
    assert root.get(reverse(f"{page}_changelist")).status_code == 200
    assert root.get(reverse(f"{page}_add")).status_code in (200, 403)
    for row in model._default_manager.all()[:2]:
        assert root.get(reverse(f"{page}_change", args=[quote(row.pk)])).status_code == 200
        assert root.get(reverse(f"{page}_history", args=[quote(row.pk)])).status_code == 200


@pytest.mark.parametrize("model", registered(), ids=lambda model: model._meta.label)
def test_list_costs_no_query_a_row(root, model, django_assert_max_num_queries):
    with django_assert_max_num_queries(14):
        root.get(reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist"))


def test_autocomplete_finds(root):
    asked = {"app_label": "pools", "model_name": "grant", "field_name": "team", "term": "Vision"}
    found = root.get(reverse("admin:autocomplete"), asked).json()
    assert [row["text"] for row in found["results"]] == ["Vision 视觉组"]


def test_index_names_the_console(root):
    assert "Trainyard" in root.get(reverse("admin:index")).content.decode()


def test_secrets_have_no_page():
    assert not {PrivateValue, IdempotencyKey, Hold, WaitingTotal} & set(admin.site._registry)


def test_only_staff_may_enter(client, root):
    client.force_login(User.objects.get(username="alice"))
    assert client.get(reverse("admin:index")).status_code == 302
