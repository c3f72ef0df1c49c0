"""Admin pages of jobs: looked up, never changed."""

import pytest
from django.urls import reverse

from jobs.models import Job
from jobs.spec import EnvVar
from tests.factories import make_job, make_pool, make_team, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def job():
    team = make_team()
    env = [EnvVar("TOKEN", "very-secret", private=True), EnvVar("PLAIN", "seen")]
    return make_job(make_user(team), make_pool(team), env=env)


def test_job_is_found_by_its_id(admin_client, job):
    listed = admin_client.get(reverse("admin:jobs_job_changelist"), {"q": job.key})
    assert [row.key for row in listed.context_data["cl"].result_list] == [job.key]


def test_private_value_is_not_shown(admin_client, job):
    page = admin_client.get(reverse("admin:jobs_job_change", args=[job.pk])).content.decode()
    assert "seen" in page
    assert "TOKEN" in page
    assert "very-secret" not in page


def test_job_is_not_added_changed_or_deleted(admin_client, job):
    assert admin_client.get(reverse("admin:jobs_job_add")).status_code == 403
    change = reverse("admin:jobs_job_change", args=[job.pk])
    assert admin_client.post(change, {"state": "succeeded"}).status_code == 403
    delete = reverse("admin:jobs_job_delete", args=[job.pk])
    assert admin_client.post(delete, {"post": "yes"}).status_code == 403
    everything = {"action": "delete_selected", "_selected_action": [job.pk], "post": "yes"}
    admin_client.post(reverse("admin:jobs_job_changelist"), everything)
    assert Job.objects.get().state == "queued"
