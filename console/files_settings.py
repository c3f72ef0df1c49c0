"""Settings of the byte listener: the console's, without all that makes pages.

It has no sessions, cookies, sign-in or templates. What it sends is signed for by its address.
"""

from urllib.parse import urlsplit

from console.settings import *  # noqa: F403
from console.settings import FILES_URL, FILES_URLCONF

ROOT_URLCONF = FILES_URLCONF
WSGI_APPLICATION = "console.files.application"
MIDDLEWARE = ["console.files_middleware.Apart", "console.files_middleware.Addressed"]
ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]", urlsplit(FILES_URL).hostname or ""]
