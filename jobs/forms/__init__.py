"""The form of a new job: what it starts from and offers, what was typed, and what would come of it."""

from jobs.forms.job import JobForm
from jobs.forms.snippets import Snippets, snippets_of
from jobs.forms.start import start_example, start_from, start_new
from jobs.forms.summary import Summary, summary_of

__all__ = [
    "JobForm",
    "Snippets",
    "Summary",
    "snippets_of",
    "start_example",
    "start_from",
    "start_new",
    "summary_of",
]
