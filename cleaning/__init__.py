"""Cleaning: from the bytes of a page to a decision on every block. Pure: no network, database or clock.

>>> from cleaning import clean
>>> page = clean("<title>Ice</title><nav><a href=/>Home</a></nav><article><p>The harbour was closed for three weeks.")
>>> [(decision.block.text, str(decision.reason)) for decision in page.decisions]
[('Home', 'navigation'), ('The harbour was closed for three weeks.', 'kept')]
>>> page.title, page.text
('Ice', 'The harbour was closed for three weeks.')
"""

from typing import TYPE_CHECKING, Any

from blocksieve import defer_to_project_package

if TYPE_CHECKING:
    from cleaning.adapters.many import clean_many

if not defer_to_project_package(__name__):
    from cleaning.blocks import Block, Decision, Kind, Metadata, Page, PageType, ParseWarning, Reason
    from cleaning.clean import clean
    from cleaning.errors import (
        CleaningError,
        LayoutError,
        ModelError,
        OptionError,
        PageError,
        PageFault,
        ProcessError,
        StructureError,
    )
    from cleaning.fingerprint import digest, distance, fingerprint
    from cleaning.methods import METHODS
    from cleaning.options import CleaningOptions, Options
    from cleaning.parse import parse
    from cleaning.structure.clean_page import CleanPage
    from cleaning.structure.grid import Table
    from cleaning.structure.places import BlockImage, BlockLink, BlockPlace
    from cleaning.structure.writers.chunks import Chunk


def __getattr__(name: str) -> Any:
    """Import `clean_many` when it is used: crawls do without it, and it takes 50 ms."""
    if name != "clean_many":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from cleaning.adapters.many import clean_many  # noqa: PLC0415 — as above

    return clean_many


__all__ = [
    "METHODS",
    "Block",
    "BlockImage",
    "BlockLink",
    "BlockPlace",
    "Chunk",
    "CleanPage",
    "CleaningError",
    "CleaningOptions",
    "Decision",
    "Kind",
    "LayoutError",
    "Metadata",
    "ModelError",
    "OptionError",
    "Options",
    "Page",
    "PageError",
    "PageFault",
    "PageType",
    "ParseWarning",
    "ProcessError",
    "Reason",
    "StructureError",
    "Table",
    "clean",
    "clean_many",
    "digest",
    "distance",
    "fingerprint",
    "parse",
]
