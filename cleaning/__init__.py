"""Cleaning: bytes of a page in, a decision on every block out. Pure: no network, database or clock."""

from cleaning.blocks import Block
from cleaning.blocks import CleanPage
from cleaning.blocks import Decision
from cleaning.blocks import Kind
from cleaning.blocks import Metadata
from cleaning.blocks import Page
from cleaning.blocks import PageType
from cleaning.blocks import ParseWarning
from cleaning.blocks import Reason
from cleaning.clean import clean
from cleaning.errors import CleaningError
from cleaning.errors import ModelError
from cleaning.errors import OptionError
from cleaning.errors import PageError
from cleaning.errors import PageFault
from cleaning.fingerprint import digest
from cleaning.fingerprint import distance
from cleaning.fingerprint import fingerprint
from cleaning.methods import METHODS
from cleaning.options import Options
from cleaning.parse import parse


__all__ = [
    "METHODS",
    "Block",
    "CleanPage",
    "CleaningError",
    "Decision",
    "Kind",
    "Metadata",
    "ModelError",
    "Oddity",
    "OptionError",
    "Options",
    "Page",
    "PageError",
    "PageFault",
    "PageType",
    "Reason",
    "clean",
    "digest",
    "distance",
    "fingerprint",
    "parse",
]
