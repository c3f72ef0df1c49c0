"""Sizes as people read them."""

from __future__ import annotations

UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def size_text(size: int) -> str:
    """Three digits at most: 512 B, 1.5 GiB, 731 GiB."""
    amount, unit = float(size), 0
    while amount >= 999.5 and unit < len(UNITS) - 1:
        amount, unit = amount / 1024, unit + 1
    decimals = 1 if unit and amount < 99.95 else 0
    return f"{amount:.{decimals}f} {UNITS[unit]}"
