"""The environment check of a job: what runs in its Workers before the command, and what it means."""
