"""What the Makefile calls: the environment, the checks, a private PostgreSQL, the locks."""
