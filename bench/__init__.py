"""Benchmarks: ratios measured in one run, never times alone. One line a goal."""
