"""The form of a new job: what it offers, what was typed, the request, and what would come of it."""

from jobs.forms.job import JobForm
from jobs.forms.summary import Summary, summary_of

__all__ = ["JobForm", "Summary", "summary_of"]
