"""Sentences for codes, in the reader's language. The only place in `jobs` where sentences are made."""

from jobs.texts.findings import FINDINGS, finding_text
from jobs.texts.reasons import REASONS, capacity_text, gpus_text, promise_broken_text, reason_text
from jobs.texts.states import (
    EVENTS,
    FRAMEWORK_LABELS,
    HANG_ACTION_LABELS,
    PHASE_LABELS,
    PRIORITY_LABELS,
    START_POLICY_LABELS,
    STEP_LABELS,
    count_text,
    duration_forms,
    duration_text,
    event_text,
    state_label,
    step_label,
)

__all__ = [
    "EVENTS",
    "FINDINGS",
    "FRAMEWORK_LABELS",
    "HANG_ACTION_LABELS",
    "PHASE_LABELS",
    "PRIORITY_LABELS",
    "REASONS",
    "START_POLICY_LABELS",
    "STEP_LABELS",
    "capacity_text",
    "count_text",
    "duration_forms",
    "duration_text",
    "event_text",
    "finding_text",
    "gpus_text",
    "promise_broken_text",
    "reason_text",
    "state_label",
    "step_label",
]
