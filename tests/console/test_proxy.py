"""What is believed of the headers of a reverse proxy, and when."""

import os
import subprocess
import sys

import pytest
from django.conf import settings
from django.test import RequestFactory

from console.proxy import client_address

NAMES = ("SECURE_PROXY_SSL_HEADER", "AXES_CLIENT_IP_CALLABLE")


@pytest.mark.parametrize(
    ("forwarded", "address"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("10.9.9.9, 203.0.113.7", "203.0.113.7"),
        ("2001:db8::1", "2001:db8::1"),
        ("203.0.113.7, unknown", "127.0.0.1"),
        ("", "127.0.0.1"),
    ],
)
def test_the_last_address_counts(forwarded, address):
    assert client_address(RequestFactory().get("/", headers={"X-Forwarded-For": forwarded})) == address


@pytest.mark.parametrize(("behind", "believed"), [("1", 2), ("0", 0), (None, 0)])
def test_headers_count_only_behind_a_proxy(tmp_path, behind, believed):
    code = f"from console import settings; print(sum(hasattr(settings, n) for n in {NAMES}))"
    env = {k: v for k, v in os.environ.items() if k != "BEHIND_PROXY"} | {"DATA_DIR": str(tmp_path)}
    env |= {"BEHIND_PROXY": behind} if behind else {}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=settings.BASE_DIR,
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) == believed


@pytest.mark.django_db
def test_addresses_in_answers_are_those_of_the_proxy(client, settings):
    forwarded = {"X-Forwarded-Proto": "https"}
    assert client.get("/api/v1/", headers=forwarded).json()["jobs"].startswith("http://")
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    assert client.get("/api/v1/", headers=forwarded).json()["jobs"].startswith("https://")
