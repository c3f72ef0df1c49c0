"""The path check: what a job would find at the paths of its form, looked at from inside, without GPUs."""
