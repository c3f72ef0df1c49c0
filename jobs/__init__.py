"""What is asked, queued and decided: request, estimate, queue and lifecycle of jobs."""
