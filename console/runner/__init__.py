"""Starts the whole console on one Linux machine, restarts what dies, and ends what it started.

Nothing here uses Django, so that no fault of the console itself can take the runner down.
"""
