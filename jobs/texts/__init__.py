"""Sentences for codes, in the reader's language. The only place in `jobs` where sentences are made."""

from jobs.texts.alternatives import CHANGES, alternative_text, change_text, shape_text, split_text
from jobs.texts.env_check import FOUND, ITEM_LABELS, VERDICT_LABELS, found_text
from jobs.texts.findings import FINDINGS, finding_text, script_finding_text
from jobs.texts.following import FOLLOWING, following_text, moved_text
from jobs.texts.notices import job_told
from jobs.texts.origins import not_replaced_text, private_text
from jobs.texts.reasons import (
    REASONS,
    capacity_text,
    gpus_text,
    promise_broken_text,
    reason_text,
    would_wait_text,
)
from jobs.texts.states import (
    EVENTS,
    FATES,
    FRAMEWORK_LABELS,
    HANG_ACTION_LABELS,
    HANG_DOES,
    HANG_LABELS,
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
    used_up_text,
)
from jobs.texts.tolerance import RULE_NOT_YET, disk_rule, hang_rule, hang_rule_of, restart_rule
from jobs.texts.variables import INJECTED, injected_text

__all__ = [
    "CHANGES",
    "EVENTS",
    "FATES",
    "FINDINGS",
    "FOLLOWING",
    "FOUND",
    "FRAMEWORK_LABELS",
    "HANG_ACTION_LABELS",
    "HANG_DOES",
    "HANG_LABELS",
    "INJECTED",
    "ITEM_LABELS",
    "PHASE_LABELS",
    "PRIORITY_LABELS",
    "REASONS",
    "RULE_NOT_YET",
    "START_POLICY_LABELS",
    "STEP_LABELS",
    "VERDICT_LABELS",
    "alternative_text",
    "capacity_text",
    "change_text",
    "count_text",
    "disk_rule",
    "duration_forms",
    "duration_text",
    "event_text",
    "finding_text",
    "following_text",
    "found_text",
    "gpus_text",
    "hang_rule",
    "hang_rule_of",
    "injected_text",
    "job_told",
    "moved_text",
    "not_replaced_text",
    "private_text",
    "promise_broken_text",
    "reason_text",
    "restart_rule",
    "script_finding_text",
    "shape_text",
    "split_text",
    "state_label",
    "step_label",
    "used_up_text",
    "would_wait_text",
]
