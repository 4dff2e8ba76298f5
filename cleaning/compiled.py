"""The compiled core: used where it was built and fits the lxml at hand; the pure functions do the same elsewhere."""

from __future__ import annotations

import logging
import os
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from lxml import etree

from cleaning.blocks import Decision
from cleaning.leaf_table import LeafTable, build_leaf_table
from cleaning.leaves import walk

if TYPE_CHECKING:
    from types import ModuleType

    from lxml.html import HtmlElement

    from cleaning.blocks import Block, Reason

logger = logging.getLogger(__name__)


def scan_tree(root: HtmlElement) -> LeafTable:
    """Return the columns of a page's leaves, as `scan(walk(root))` does; of none for a page without text."""
    module = compiled_scan()
    if module is None:
        return build_leaf_table(walk(root))
    found: LeafTable = module.scan_tree(root)
    return found


def decisions(blocks: list[Block], scores: list[float], reasons: list[Reason]) -> list[Decision]:
    """Return a decision on each block."""
    module = compiled_scan()
    if module is None:
        return list(map(Decision, blocks, scores, reasons))
    found: list[Decision] = module.decisions(blocks, scores, reasons)
    return found


@cache
def compiled_scan() -> ModuleType | None:
    """Return the module `_scan`; None where there is none, or it must not be used (BLOCKSIEVE_PURE=1).

    It reads lxml's own structures, so it serves the version (major and minor) that it was compiled for; with another
    one it is passed over, with a warning.
    """
    module = _load("_scan")
    if module is None or _fits(module.BUILT_WITH):
        return module
    logger.warning("The compiled core is for lxml %s and is not used with %s", module.BUILT_WITH, etree.__version__)
    return None


@cache
def compiled_trees() -> ModuleType | None:
    """Return the module `_trees`; None where there is none, or it must not be used (BLOCKSIEVE_PURE=1)."""
    return _load("_trees")


@cache
def compiled_words() -> ModuleType | None:
    """Return the module `_words`; None where there is none, or it must not be used (BLOCKSIEVE_PURE=1)."""
    return _load("_words")


@cache
def compiled_looks() -> ModuleType | None:
    """Return the module `_looks`; None where there is none, or it must not be used (BLOCKSIEVE_PURE=1)."""
    return _load("_looks")


@cache
def compiled_rows() -> ModuleType | None:
    """Return the module `_rows`; None where there is none, or it must not be used (BLOCKSIEVE_PURE=1)."""
    return _load("_rows")


def _load(name: str) -> ModuleType | None:
    if os.environ.get("BLOCKSIEVE_PURE", "0") not in {"", "0"}:
        return None
    try:
        return import_module(f"cleaning.{name}")
    except ModuleNotFoundError:
        return None
    except (ImportError, TypeError, ValueError) as error:  # so Cython says that lxml's structures are others
        logger.warning("The compiled core does not fit and is not used; install Blocksieve again: %s", error)
        return None


def _fits(built_with: str) -> bool:
    return built_with.split(".")[:2] == str(etree.__version__).split(".")[:2]
