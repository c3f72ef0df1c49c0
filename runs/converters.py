"""Parts of addresses."""

from django.urls import register_converter
from django.urls.converters import StringConverter


class PathCheckKeyConverter(StringConverter):
    """A path check's id: nothing else reaches the database, whatever an address contains."""

    regex = "pc-[a-z0-9]{16}"


register_converter(PathCheckKeyConverter, "pathcheck")
