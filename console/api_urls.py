"""Addresses of the REST API, below /api/v1/."""

from django.urls import path, re_path
from drf_spectacular.views import SpectacularAPIView

from alerts import api as alerts
from console.api import ApiRoot, NoSuchAddress
from images import api as images
from jobs import converters  # noqa: F401  # <job:key>
from jobs.api import views as jobs
from jobs.api.rerun import JobRerun
from pools import api as pools
from runs import api as runs
from runs import converters as runs_converters  # noqa: F401  # <pathcheck:key>
from runs import kept_api as kept
from runs import stack_api as stacks
from runs.path_check import api as path_check
from storage import api as storage
from teams import api as teams

urlpatterns = [
    path("", ApiRoot.as_view(), name="api-root"),
    path("schema/", SpectacularAPIView.as_view(), name="api-schema"),
    path("auth/token/", teams.TokenView.as_view(), name="api-token"),
    path("me/", teams.MeView.as_view(), name="api-me"),
    path("zones/", pools.ZoneList.as_view(), name="api-zones"),
    path("pools/", pools.PoolList.as_view(), name="api-pools"),
    path("pools/<int:pk>/", pools.PoolDetail.as_view(), name="api-pool"),
    path("pools/<int:pk>/nodes/", pools.NodeList.as_view(), name="api-nodes"),
    path("pools/<int:pk>/queue/", jobs.PoolQueue.as_view(), name="api-queue"),
    path("specs/", pools.SpecList.as_view(), name="api-specs"),
    path("images/", images.ImageList.as_view(), name="api-images"),
    path("volumes/", storage.VolumeList.as_view(), name="api-volumes"),
    path("jobs/", jobs.JobList.as_view(), name="api-jobs"),
    path("jobs/counts/", jobs.JobCounts.as_view(), name="api-job-counts"),
    path("jobs/<job:key>/", jobs.JobDetail.as_view(), name="api-job"),
    path("jobs/<job:key>/events/", jobs.EventList.as_view(), name="api-job-events"),
    path("jobs/<job:key>/env-check/", jobs.EnvCheckList.as_view(), name="api-job-env-check"),
    path("jobs/<job:key>/deliveries/", jobs.DeliveryList.as_view(), name="api-job-deliveries"),
    path("jobs/<job:key>/workers/", jobs.WorkerList.as_view(), name="api-job-workers"),
    path("jobs/<job:key>/workers/<int:rank>/log/", runs.WorkerLog.as_view(), name="api-worker-log"),
    path(
        "jobs/<job:key>/workers/<int:rank>/log/download/",
        runs.WorkerLogDownload.as_view(),
        name="api-worker-log-download",
    ),
    path("jobs/<job:key>/workers/<int:rank>/files/", kept.WorkerFiles.as_view(), name="api-worker-files"),
    path(
        "jobs/<job:key>/workers/<int:rank>/files/download/",
        kept.WorkerFileDownload.as_view(),
        name="api-worker-file-download",
    ),
    path("jobs/<job:key>/remove-files/", kept.FilesRemove.as_view(), name="api-job-remove-files"),
    path("jobs/<job:key>/stacks/", stacks.StackList.as_view(), name="api-job-stacks"),
    path("jobs/<job:key>/stacks/<int:pk>/", stacks.StackDetail.as_view(), name="api-job-stack"),
    path("jobs/<job:key>/clone/", jobs.JobClone.as_view(), name="api-job-clone"),
    path("jobs/<job:key>/rerun/", JobRerun.as_view(), name="api-job-rerun"),
    path("jobs/<job:key>/stop/", jobs.JobStop.as_view(), name="api-job-stop"),
    path("alert-channels/", alerts.ChannelList.as_view(), name="api-alert-channels"),
    path("alert-channels/<int:pk>/", alerts.ChannelDetail.as_view(), name="api-alert-channel"),
    path("alert-channels/<int:pk>/test/", alerts.ChannelTest.as_view(), name="api-alert-channel-test"),
    path(
        "alert-channels/<int:pk>/deliveries/",
        alerts.ChannelDeliveries.as_view(),
        name="api-alert-channel-deliveries",
    ),
    path(
        "alert-channels/<int:pk>/deliveries/<int:delivery>/send-again/",
        alerts.DeliveryAgain.as_view(),
        name="api-alert-delivery-again",
    ),
    path("alert-rules/", alerts.RuleList.as_view(), name="api-alert-rules"),
    path("alert-rules/<int:pk>/", alerts.RuleDetail.as_view(), name="api-alert-rule"),
    path("path-check/", path_check.PathCheckStart.as_view(), name="api-path-check-start"),
    path("path-check/<pathcheck:key>/", path_check.PathCheckDetail.as_view(), name="api-path-check"),
    re_path("", NoSuchAddress.as_view()),
]
