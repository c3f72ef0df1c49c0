"""Encryption of private values: MultiFernet, the newest key first, so that keys can be rotated."""

from __future__ import annotations

from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings

__all__ = ["InvalidToken", "decrypt", "encrypt", "readable"]


@lru_cache(maxsize=4)
def _fernet(keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(key) for key in keys])


def encrypt(value: str) -> bytes:
    return _fernet(tuple(settings.FERNET_KEYS)).encrypt(value.encode())


def decrypt(ciphertext: bytes | memoryview) -> str:
    """InvalidToken if no key of the console opens it."""
    return _fernet(tuple(settings.FERNET_KEYS)).decrypt(bytes(ciphertext)).decode()


def readable(ciphertext: bytes | memoryview) -> bool:
    """Whether a key of the console opens it."""
    try:
        decrypt(ciphertext)
    except InvalidToken:
        return False
    return True
