"""Admin pages of people and tokens."""

import pytest
from django.contrib.auth.models import Permission
from django.urls import reverse

from teams.models import ApiToken, Membership, User
from teams.services import token_create, token_user
from tests.admin_pages import filled
from tests.factories import make_job, make_pool, make_team, make_user

pytestmark = pytest.mark.django_db


def test_user_is_added_and_put_into_a_team(admin_client):
    address = reverse("admin:teams_user_add")
    data = {"username": "dora", "password1": "a-long-one-4711", "password2": "a-long-one-4711"}
    data |= {"usable_password": "true"}
    done = admin_client.post(address, data)
    assert done.status_code == 302
    user = User.objects.get(username="dora")
    assert user.check_password("a-long-one-4711")
    address = reverse("admin:teams_user_change", args=[user.pk])
    data = filled(admin_client.get(address)) | {
        "memberships-TOTAL_FORMS": "1",
        "memberships-0-team": make_team().pk,
        "memberships-0-role": "member",
    }
    data = {name: value for name, value in data.items() if not name.startswith(("last_login", "date_joined"))}
    data |= {"date_joined_0": "2030-01-01", "date_joined_1": "00:00:00"}
    assert admin_client.post(address, data).status_code == 302
    assert Membership.objects.filter(user=user).exists()


def test_user_with_jobs_is_deactivated_not_deleted(admin_client):
    team = make_team()
    user = make_user(team)
    make_job(user, make_pool(team))
    page = admin_client.post(reverse("admin:teams_user_delete", args=[user.pk]), {"post": "yes"})
    assert "1 jobs refer to it. Take “Active” away instead" in page.content.decode()
    assert User.objects.filter(pk=user.pk).exists()


def test_user_without_jobs_is_deleted(admin_client):
    user = make_user(make_team())
    token_create(user=user)
    page = admin_client.post(reverse("admin:teams_user_delete", args=[user.pk]), {"post": "yes"})
    assert page.status_code == 302
    assert not User.objects.filter(pk=user.pk).exists()


def test_staff_makes_nobody_a_superuser(client, admin_user):
    clerk = make_user(is_staff=True)
    clerk.user_permissions.set(Permission.objects.filter(content_type__app_label="teams"))
    client.force_login(clerk)
    own = client.get(reverse("admin:teams_user_change", args=[clerk.pk]))
    assert not {"is_superuser", "groups", "user_permissions"} & set(own.context_data["adminform"].form.fields)
    password = reverse("admin:auth_user_password_change", args=[admin_user.pk])
    assert client.get(password).status_code == 403


def test_token_shows_no_digest_and_is_revoked(admin_client):
    token, _ = token_create(user=make_user(), name="laptop")
    row = ApiToken.objects.get()
    page = admin_client.get(reverse("admin:teams_apitoken_change", args=[row.pk])).content.decode()
    assert "laptop" in page
    assert row.digest not in page
    assert token not in page
    listed = admin_client.get(reverse("admin:teams_apitoken_changelist")).content.decode()
    assert "Revoke selected tokens" in listed
    assert row.digest not in listed
    assert admin_client.get(reverse("admin:teams_apitoken_add")).status_code == 403
    admin_client.post(reverse("admin:teams_apitoken_delete", args=[row.pk]), {"post": "yes"})
    assert token_user(token=token) is None
