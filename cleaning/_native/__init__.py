"""The loader of the compiled core: six Cython modules that do in C what costs most time in Python.

The core is optional. Without it every caller uses its pure Python version, which gives the same results:

============================================================  =====================================================
pure, in `cleaning`                                           compiled, in `cleaning/_native`
============================================================  =====================================================
`leaf_table.build_leaf_table`                                 `leaf_table.read_leaf_table`
`terms.pure_terms`, `fingerprint.pure_fingerprint_terms`      `words.TermReader`, `words.fingerprint_terms`
`parse._has_replacement`, `._scan_tags`, `._TagCounter`       `tags.has_replacement`, `.scan_tags`
`metadata.elements.pure_*`                                    `elements.find_*`
`classifier.lexicon.Lexicon`, `classifier.hints.read_hint`    `words.ScoredWords`, `words.HintWords`
`classifier.signals.pure_measure_overlap`                     `words.measure_overlap`
`classifier.features.pure_*`                                  `features.*`
`classifier.model.Trees.pure_sums`                            `trees.Forest`
============================================================  =====================================================

A caller asks `load_compiled` beside its pure version. Change both versions: `tests/cleaning/_native/` compares them.
"""

from __future__ import annotations

import logging
import os
from functools import cache
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from lxml import etree

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import ModuleType

    from lxml.html import HtmlElement

logger = logging.getLogger(__name__)

CompiledName = Literal["elements", "features", "leaf_table", "tags", "trees", "words"]
COMPILED_NAMES: tuple[CompiledName, ...] = get_args(CompiledName)

_FOLDER = Path(__file__).parent
# Measured by research/bench/clean.py with and without the core.
_PURE_COST = "about three times as long"

# Every sort of node and attribute that the compiled modules read.
_PROBE = """<!DOCTYPE html [<!ENTITY who "author">]><html xmlns:x="urn:x"><head><title>One</title>
<meta name="author" content="A. B."/><script type="application/ld+json">{}</script></head><body class="page">
<!-- a comment --><?x an instruction?><div id="a" role="&who;" style="display: none" itemtype="urn:y">Two
<a href="/authors/1" rel="&who;">a link</a>, <b>bold<i/></b> &amp; <x:p x:class="z" class="w">others<br/></x:p>
<img alt="&who;"/><![CDATA[ & more ]]>&who;</div><p hidden="" itemprop="name">Three: \u00e9\u4e00\U0001f600</p> four
<a rel="license" href="/terms">terms</a>
<ul aria-label="f"><li>five</li><li>six</li></ul></body></html>"""


@cache
def load_compiled(name: CompiledName) -> ModuleType | None:
    """Return a module of the compiled core; None if it was not built, does not fit or BLOCKSIEVE_PURE=1 forbids it.

    `elements` and `leaf_table` read lxml's own structures. They check at import that the installed lxml has the
    structures of their build. If one does not fit, or is older than its source in a checkout, a warning is logged.
    """
    if _is_forbidden():
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
    except (ImportError, TypeError, ValueError, RuntimeWarning) as error:  # lxml's structures have changed
        logger.warning("The compiled %s does not fit and is not used; install Blocksieve again: %s", full_name, error)
        return None
    return module


def explain_missing_core() -> str | None:
    """Return a sentence about the missing modules of the compiled core: their cost in time, and how to build them.

    None if every module was built, or if BLOCKSIEVE_PURE=1 forbids them. No module is loaded.
    """
    missing = [name for name in COMPILED_NAMES if _find_build(name) is None]
    if not missing or _is_forbidden():
        return None
    what = "its compiled core" if len(missing) == len(COMPILED_NAMES) else f"the compiled {', '.join(missing)}"
    return (
        f"Blocksieve was installed without {what}, so cleaning a page takes {_PURE_COST}; install its binary wheel, or "
        "install it again with a C compiler. BLOCKSIEVE_PURE=1 chooses pure Python and hides this message"
    )


def _is_forbidden() -> bool:
    return os.environ.get("BLOCKSIEVE_PURE", "0") not in {"", "0"}


def _find_build(name: str, folder: Path = _FOLDER) -> Path | None:
    builds = (folder / f"{name}{suffix}" for suffix in EXTENSION_SUFFIXES)
    return next((path for path in builds if path.exists()), None)


def _is_stale(name: str, folder: Path = _FOLDER) -> bool:
    """Return True if a checkout has newer sources than the module's build; wheels have no sources."""
    build = _find_build(name, folder)
    sources = chain([folder / f"{name}.pyx"], folder.glob("*.pxd"))
    if build is None or not any(folder.glob("*.pyx")):
        return False
    built = build.stat().st_mtime
    return any(source.exists() and source.stat().st_mtime > built for source in sources)


def check_structures(sizes: Mapping[str, int], compiled_with: str) -> None:
    """Raise ImportError if lxml's classes have other sizes, in bytes, than when the module was built."""
    for name, size in sizes.items():
        own = getattr(etree, name).__basicsize__
        if own != size:
            raise ImportError(
                f"lxml.etree.{name} has {own} bytes in lxml {etree.__version__} and {size} in lxml {compiled_with}, "
                "which the module was compiled with"
            )


def check_reading(compiled: Callable[[HtmlElement], object], pure: Callable[[HtmlElement], object]) -> None:
    """Raise ImportError if a compiled function reads a small tree otherwise than the pure one."""
    root = etree.fromstring(_PROBE, etree.XMLParser(resolve_entities=False, strip_cdata=False))
    result = compiled(root)
    expected = pure(root)
    if repr(result) != repr(expected):
        raise ImportError(f"it reads trees of lxml {etree.__version__} otherwise than pure Python does")
