"""REST: the files that the Workers of a failed run have left on their own disk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

from django.http import HttpResponseRedirect
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext_lazy as _
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import exceptions, serializers, status
from rest_framework.request import Request
from rest_framework.response import Response

from engines.base import EngineError, EntryKind, KeptEntry, NotKept
from jobs.models import Job
from jobs.services import may_stop
from runs.downloads import file_address
from runs.kept import NeverKept, NoLongerKept, Place, files_remove, place_of
from runs.kept_paths import path_asked, path_below, path_quoted, readable_name, time_told
from teams.models import User
from teams.rest import LARGEST, ApiView, NothingSerializer

DEFAULT_ENTRIES = 200
MOST_ENTRIES = 1000
GAVE_ROOM = _("The files of this run are no longer kept: room was needed.")


class FilesNeverKept(exceptions.APIException):
    status_code = status.HTTP_404_NOT_FOUND
    default_code = "files_not_kept"
    default_detail = _("No files of this job were kept: that is for jobs that failed and had asked for it.")


class FilesNoLongerKept(exceptions.APIException):
    status_code = status.HTTP_410_GONE
    default_code = "files_no_longer_kept"
    default_detail = _("The files of this run are no longer kept.")


class NoSuchFile(exceptions.APIException):
    status_code = status.HTTP_404_NOT_FOUND
    default_code = "file_unknown"
    default_detail = _("There is nothing at this path that can be shown. Links are not followed.")


class FilesUnreadable(exceptions.APIException):
    status_code = status.HTTP_503_SERVICE_UNAVAILABLE
    default_code = "files_unreadable"
    default_detail = _("The files cannot be read now; try again.")


@contextmanager
def refused() -> Iterator[None]:
    """Around what asks for kept files: the answer where there are none."""
    try:
        yield
    except NeverKept as error:
        raise FilesNeverKept from error
    except NoLongerKept as error:
        raise FilesNoLongerKept(GAVE_ROOM if error.for_room else None) from error
    except NotKept as error:
        raise NoSuchFile from error
    except EngineError as error:
        raise FilesUnreadable from error


class PathParams(serializers.Serializer[Any]):
    path = serializers.CharField(
        required=False,
        allow_blank=True,
        help_text="As in the Worker, percent-encoded; `path` of an entry can be given as it is.",
    )


class FilesParams(PathParams):
    first = serializers.IntegerField(
        required=False, min_value=0, max_value=LARGEST, help_text="The first entry; they count from 0."
    )
    limit = serializers.IntegerField(
        required=False, min_value=1, max_value=MOST_ENTRIES, help_text="The most entries; 200 by default."
    )


class EntrySerializer(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="For eyes: what is no text is replaced.")
    path = serializers.CharField(help_text="For the query of this address and of the download, encoded.")
    kind = serializers.ChoiceField(choices=[str(kind) for kind in EntryKind])
    size = serializers.IntegerField(help_text="Bytes of a file; else 0.")
    modified_at = serializers.DateTimeField(allow_null=True)
    target = serializers.CharField(allow_blank=True, help_text="Where a link leads to; it is not followed.")


class FolderSerializer(serializers.Serializer[Any]):
    entries = EntrySerializer(many=True, help_text="Folders first, then by name.")
    total = serializers.IntegerField(help_text="How many entries there are.")
    more = serializers.BooleanField(help_text="There are more than are counted.")


class RemovedSerializer(serializers.Serializer[Any]):
    removed = serializers.BooleanField(help_text="False: there was nothing to remove.")


def _entry(folder: bytes, entry: KeptEntry) -> dict[str, Any]:
    return {
        "name": readable_name(entry.name),
        "path": path_quoted(path_below(folder, entry.name)),
        "kind": str(entry.kind),
        "size": entry.size,
        "modified_at": time_told(entry.modified_at),
        "target": readable_name(entry.target),
    }


class KeptView(ApiView):
    """What is about files of a Worker of a job that the caller may see."""

    def find(self, request: Request, key: str, rank: int) -> tuple[Job, Place]:
        """The job, and what lies at the path that is asked about."""
        jobs = Job.objects.for_user(request.user).light().select_related("pool")
        job: Job = get_object_or_404(jobs, key=key)
        path = path_asked(request.META.get("QUERY_STRING", ""))
        with refused():
            return job, place_of(job=job, rank=rank, path=path)


class WorkerFiles(KeptView):
    """A folder that a Worker of the failed run has written, while its files are kept (`kept_until`)."""

    query = {"GET": FilesParams}
    serializer_class = FolderSerializer

    def get(self, request: Request, key: str, rank: int) -> Response:
        _job, place = self.find(request, key, rank)
        with refused():
            folder = place.entries(self.asked.get("first", 0), self.asked.get("limit", DEFAULT_ENTRIES))
        entries = [_entry(place.path, entry) for entry in folder.entries]
        told = {"entries": entries, "total": folder.total, "more": folder.more}
        return Response(FolderSerializer(told).data)


class WorkerFileDownload(KeptView):
    """A file of the failed run, at an address for a few minutes that needs no token."""

    query = {"GET": PathParams}
    serializer_class = None

    @extend_schema(
        responses={
            302: OpenApiResponse(
                description="`Location` is where the bytes are; it answers as that of a log does, and 410 "
                "once the files are no longer kept.",
            )
        }
    )
    def get(self, request: Request, key: str, rank: int) -> HttpResponseRedirect:
        job, place = self.find(request, key, rank)
        with refused():
            place.bytes(0, 0)
        address = file_address(user=request.user, job=job, rank=rank, path=place.path)
        return HttpResponseRedirect(address, headers={"Cache-Control": "private, no-store"})


class FilesRemove(ApiView):
    """Removes the files of the failed run before their time. For the job's creator and its team's admins."""

    serializer_class = NothingSerializer

    @extend_schema(request=None, responses=RemovedSerializer)
    def post(self, request: Request, key: str) -> Response:
        NothingSerializer(data=request.data).is_valid(raise_exception=True)
        user = cast(User, request.user)
        job: Job = get_object_or_404(Job.objects.for_user(user).light(), key=key)
        if not may_stop(user=user, job=job):
            raise exceptions.PermissionDenied
        return Response({"removed": files_remove(job=job, actor=user)})
