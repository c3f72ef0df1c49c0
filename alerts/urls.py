"""Addresses of notices, channels and standing rules."""

from django.urls import path

from alerts.views import channels, notices, rules

urlpatterns = [
    path("alerts/notices/", notices.page, name="notices"),
    path("alerts/notices/read/", notices.all_read, name="notices-read"),
    path("alerts/notices/<int:pk>/", notices.follow, name="notice"),
    path("alerts/bell/", notices.bell, name="bell"),
    path("alerts/bell/menu/", notices.bell_menu, name="bell-menu"),
    path("alerts/channels/", channels.page, name="channels"),
    path("alerts/channels/new/", channels.new, name="channel-new"),
    path("alerts/channels/<int:pk>/", channels.channel_page, name="channel"),
    path("alerts/channels/<int:pk>/edit/", channels.edit, name="channel-edit"),
    path("alerts/channels/<int:pk>/delete/", channels.delete, name="channel-delete"),
    path("alerts/channels/<int:pk>/test/", channels.test, name="channel-test"),
    path("alerts/channels/<int:pk>/test/<int:delivery>/", channels.tested, name="channel-tested"),
    path("alerts/channels/<int:pk>/enable/", channels.enable, name="channel-enable"),
    path("alerts/channels/<int:pk>/deliveries/", channels.deliveries, name="channel-deliveries"),
    path(
        "alerts/channels/<int:pk>/deliveries/<int:delivery>/again/",
        channels.send_again,
        name="channel-send-again",
    ),
    path("alerts/rules/", rules.page, name="rules"),
    path("alerts/rules/new/<slug:subject>/", rules.new, name="rule-new"),
    path("alerts/rules/<int:pk>/", rules.edit, name="rule"),
    path("alerts/rules/<int:pk>/delete/", rules.delete, name="rule-delete"),
]
