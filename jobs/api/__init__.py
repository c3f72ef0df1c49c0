"""REST: creating, finding, watching and stopping jobs."""
