"""Who hears of it: channels, rules and deliveries. Knows nothing of jobs."""
