"""REST: the request as it comes in, and what is said about jobs, estimates and events."""

from jobs.serializers.answer import (
    ChangeSerializer,
    CountsSerializer,
    EstimateSerializer,
    EventSerializer,
    JobRowSerializer,
    JobSerializer,
    WaitingSerializer,
)
from jobs.serializers.edit import JobEditSerializer
from jobs.serializers.request import JobRequestSerializer
from jobs.serializers.workers import EnvCheckSerializer, WorkerSerializer

__all__ = [
    "ChangeSerializer",
    "CountsSerializer",
    "EnvCheckSerializer",
    "EstimateSerializer",
    "EventSerializer",
    "JobEditSerializer",
    "JobRequestSerializer",
    "JobRowSerializer",
    "JobSerializer",
    "WaitingSerializer",
    "WorkerSerializer",
]
