"""What tests of REST look for in answers."""

from jobs.models import Job


def errors(response, status=400):
    """The errors of a refusal as (code, attr); nothing was stored."""
    assert response.status_code == status, response.content
    assert response.json()["type"] == "validation_error"
    assert not Job.objects.exists()
    return [(error["code"], error["attr"]) for error in response.json()["errors"]]


def made(response):
    assert response.status_code == 201, response.content
    return response.json()
