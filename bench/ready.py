"""Importing this makes Django ready: before anything that imports models."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
django.setup()
