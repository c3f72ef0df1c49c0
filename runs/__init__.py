"""A job's attempts at work: launching, watching, logs. The only app that knows engines."""
