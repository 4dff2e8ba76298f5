"""Cleaning: from the bytes of a page to a decision on every block. Pure: no network, database or clock.

>>> from cleaning import clean
>>> page = clean("<title>Ice</title><nav><a href=/>Home</a></nav><article><p>The harbour was closed for three weeks.")
>>> [(decision.block.text, str(decision.reason)) for decision in page.decisions]
[('Home', 'navigation'), ('The harbour was closed for three weeks.', 'kept')]
>>> page.title, page.text
('Ice', 'The harbour was closed for three weeks.')
"""

from blocksieve import gives_way

if not gives_way(__name__):
    from cleaning.blocks import Block, Decision, Kind, Metadata, Page, PageType, ParseWarning, Reason
    from cleaning.clean import clean
    from cleaning.errors import CleaningError, ModelError, OptionError, PageError, PageFault, StructureError
    from cleaning.fingerprint import digest, distance, fingerprint
    from cleaning.methods import METHODS
    from cleaning.options import CleaningOptions, Options
    from cleaning.parse import parse
    from cleaning.structure.chunks import Chunk
    from cleaning.structure.clean_page import CleanPage
    from cleaning.structure.places import BlockLink, BlockPlace

__all__ = [
    "METHODS",
    "Block",
    "BlockLink",
    "BlockPlace",
    "Chunk",
    "CleanPage",
    "CleaningError",
    "CleaningOptions",
    "Decision",
    "Kind",
    "Metadata",
    "ModelError",
    "OptionError",
    "Options",
    "Page",
    "PageError",
    "PageFault",
    "PageType",
    "ParseWarning",
    "Reason",
    "StructureError",
    "clean",
    "digest",
    "distance",
    "fingerprint",
    "parse",
]
