"""Ends of requests that are no visits."""

from __future__ import annotations

from enum import StrEnum


class End(StrEnum):
    """Stored as the request's outcome, beside the outcomes of visits; counted as `frontier/<end>`."""

    REDIRECTED = "redirected"
    """What it led to is a request of its own, or was one already."""
    CALLBACK_MISSING = "callback_missing"
    """The spider has no method of the stored name any more."""
    UNREADABLE = "unreadable"
    """What is stored of it makes no request."""
    UNACKNOWLEDGED = "unacknowledged"
    """Nothing was heard of it although nothing was under way any more."""
