"""The WSGI application of the byte listener, served by a granian of its own."""

import os

from django.core.wsgi import get_wsgi_application

os.environ["DJANGO_SETTINGS_MODULE"] = "console.files_settings"  # whatever the console's programs are told

application = get_wsgi_application()
