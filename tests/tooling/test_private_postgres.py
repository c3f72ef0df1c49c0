"""The private server is there for its block, and gone after it."""

import subprocess
import sys

import psycopg
import pytest

from tools.private_postgres import NotInstalled, find_programs, private_postgres


def is_installed():
    try:
        return find_programs().is_dir()
    except NotInstalled:
        return False


pytestmark = pytest.mark.skipif(not is_installed(), reason="no PostgreSQL server is installed")


def test_it_serves_and_is_gone_afterwards():
    with private_postgres() as url, psycopg.connect(url) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
        folder = connection.execute("SHOW unix_socket_directories").fetchone()[0]
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url, connect_timeout=2)
    assert subprocess.run(["test", "-e", folder]).returncode == 1


def test_nobody_gets_in_without_the_password():
    with private_postgres() as url, pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(url.split(":")[0] + "://trainyard:wrong@" + url.split("@")[1])


def test_a_command_gets_the_address_and_its_exit_code_counts():
    code = "import os, sys; sys.exit(7 if os.environ['DATABASE_URL'].startswith('postgres://') else 1)"
    command = [sys.executable, "-m", "tools.private_postgres", sys.executable, "-c", code]
    assert subprocess.run(command).returncode == 7
