"""What a member of a team may do. Plain values."""

from enum import StrEnum


class Role(StrEnum):
    MEMBER = "member"
    ADMIN = "admin"
