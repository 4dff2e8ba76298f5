"""The loader of the compiled core: four Cython modules that do in C what costs most time in Python.

The core is optional. Without it every caller uses its pure Python version, which gives the same results.
"""

from __future__ import annotations

import logging
import os
from functools import cache
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from lxml import etree

if TYPE_CHECKING:
    from types import ModuleType

logger = logging.getLogger(__name__)


@cache
def load_compiled(name: Literal["features", "leaf_table", "trees", "words"]) -> ModuleType | None:
    """Return a module of the compiled core; None if it was not built, does not fit or BLOCKSIEVE_PURE=1 forbids it.

    `leaf_table` reads lxml's own structures, so it fits only the lxml version (major and minor) of its build. With
    another version a warning is logged, and also if the module is older than its source in a checkout.
    """
    if os.environ.get("BLOCKSIEVE_PURE", "0") not in {"", "0"}:
        return None
    full_name = f"{__name__}.{name}"
    if _is_stale(name):
        logger.warning("The compiled %s is older than its source and is not used; run make to build it", full_name)
        return None
    try:
        module = import_module(full_name)
    except ModuleNotFoundError as error:
        if error.name != full_name:
            raise
        return None
    except (ImportError, TypeError, ValueError) as error:  # Cython raises these when lxml's structures have changed
        logger.warning("The compiled %s does not fit and is not used; install Blocksieve again: %s", full_name, error)
        return None
    if not _fits(getattr(module, "LXML_VERSION", etree.__version__)):
        logger.warning(
            "The compiled %s is for lxml %s and is not used with %s", full_name, module.LXML_VERSION, etree.__version__
        )
        return None
    return module


def _is_stale(name: str, folder: Path = Path(__file__).parent) -> bool:
    """Return True if a checkout has a newer source of the module than its build; wheels have no sources."""
    source = folder / f"{name}.pyx"
    builds = (folder / f"{name}{suffix}" for suffix in EXTENSION_SUFFIXES)
    build = next((path for path in builds if path.exists()), None)
    return build is not None and source.exists() and source.stat().st_mtime > build.stat().st_mtime


def _fits(lxml_version: str) -> bool:
    return lxml_version.split(".")[:2] == str(etree.__version__).split(".")[:2]
