"""Pages of jobs: the form, the list, and one job."""
