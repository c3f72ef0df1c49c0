"""Pages of notices, channels and standing rules."""
