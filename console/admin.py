"""How the admin pages name themselves."""

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

admin.site.site_header = _("Trainyard administration")
admin.site.site_title = _("Trainyard administration")
admin.site.index_title = _("Pools, images, storage and people")
