"""REST: the request as it comes in, and what is said about jobs, estimates and events."""

from jobs.serializers.answer import (
    ChangeSerializer,
    CountsSerializer,
    EnvCheckSerializer,
    EstimateSerializer,
    EventSerializer,
    JobRowSerializer,
    JobSerializer,
    WaitingSerializer,
    WorkerSerializer,
)
from jobs.serializers.edit import JobEditSerializer
from jobs.serializers.request import JobRequestSerializer

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
