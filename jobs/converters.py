"""Parts of addresses."""

from django.urls import register_converter
from django.urls.converters import StringConverter


class JobKeyConverter(StringConverter):
    """A job's id: nothing else reaches the database, whatever an address contains."""

    regex = "jo-[a-z0-9]{16}"


register_converter(JobKeyConverter, "job")
