"""Every cleaning option, once: type, default, bounds and help."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from math import isclose
from typing import TYPE_CHECKING, Any, TypeVar

from cleaning.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Number = TypeVar("Number", int, float)
_SWITCHED = {"true": True, "false": False}
FAVOURS = ("balanced", "precision", "recall")


def option(default: Number, low: Number, high: Number, help_text: str) -> Number:
    """Declare a number between `low` and `high`, both allowed."""
    bounds = {"low": low, "high": high, "help": help_text}
    declared: Number = field(default=default, metadata=bounds)
    return declared


def word(default: str, words: tuple[str, ...], help_text: str) -> str:
    """Declare one of several words."""
    declared: str = field(default=default, metadata={"choices": words, "help": help_text})
    return declared


def switch(help_text: str) -> bool:
    """Declare what is off unless asked for."""
    declared: bool = field(default=False, metadata={"choices": ("true", "false"), "help": help_text})
    return declared


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of `cleaning.clean`; each method reads those it knows."""

    max_bytes: int = option(10_000_000, 1_000, 1_000_000_000, "largest page that is read, in bytes")
    max_blocks: int = option(20_000, 100, 10_000_000, "blocks of one page that are scored; the rest is dropped")
    favour: str = word(
        "balanced",
        FAVOURS,
        "default: what to avoid where it is in doubt: text that is not the page's (precision), losses (recall)",
    )
    comments: bool = switch("default: keep readers' comments too, also on pages that are not made of them")

    weighted_alpha: float = option(0.3, 0.0, 1.0, "weighted: weight of title words (alpha <= beta <= gamma, sum 1)")
    weighted_beta: float = option(0.3, 0.0, 1.0, "weighted: weight of link words")
    weighted_gamma: float = option(0.4, 0.0, 1.0, "weighted: weight of content words")
    weighted_distance: int = option(3, 0, 7, "weighted: most bits between fingerprints of duplicate blocks of a page")
    weighted_small_words: int = option(
        10, 0, 1_000, "weighted: a block with fewer words is judged by its punctuation together with its neighbour"
    )
    pab_outer_share: float = option(0.5, 0.0, 1.0, "pab: a block with a larger share of links to other sites is noise")
    subtree_generations: int = option(2, 1, 100, "subtree: G, levels from a text up to the root of its sub-tree")
    subtree_alpha: int = option(40, 0, 100_000, "subtree: least characters of one text that makes a sub-tree")
    subtree_beta: int = option(100, 0, 1_000_000, "subtree: least characters of text in a sub-tree")
    subtree_gamma: float = option(0.3, 0.0, 1.0, "subtree: largest share of link text in a sub-tree")
    vce_threshold: int = option(3, 0, 6, "vce: visual differences above which an element begins a block of its own")
    vce_link_density: float = option(0.5, 0.0, 1.0, "vce: a block with no larger share of link text adds to its parent")
    kfe_clusters: int = option(3, 1, 100, "kfe: clusters of blocks, of which the best is kept")
    coreex_link_ratio: float = option(0.9, 0.0, 1.0, "coreex: a child with a larger share of unlinked text is kept")
    coreex_weight: float = option(0.99, 0.0, 1.0, "coreex: weight of that share in a node's score; the rest is length")
    econ_least_marks: int = option(1, 1, 1_000, "econ: a part of the main text with fewer punctuation marks is noise")

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Options:
        """Return the options with the given values.

        Raises OptionError for an unknown name (and says which known one is nearest), a value of another type
        or one out of bounds.
        """
        known = {declared.name: declared for declared in fields(cls)}
        for name, value in given.items():
            if name not in known:
                raise OptionError(f"unknown option {name!r}; {nearest(name, known)}")
            _check(name, value, known[name].default, known[name].metadata)
        options = cls(**given)
        options._check_weights()
        return options

    def _check_weights(self) -> None:
        weights = (self.weighted_alpha, self.weighted_beta, self.weighted_gamma)
        if list(weights) != sorted(weights) or not isclose(sum(weights), 1, abs_tol=1e-9):
            raise OptionError(
                f"weighted_alpha, weighted_beta and weighted_gamma are {weights}; none may be larger than the next, "
                "and they must add up to 1"
            )


def allowed(bounds: Mapping[str, Any]) -> str:
    """Return a phrase that says which values an option takes; `bounds` is the metadata of its field."""
    words = bounds.get("choices")
    return ", ".join(words) if words else f"{bounds['low']} to {bounds['high']}"


def read_pair(text: str) -> tuple[str, bool | int | float | str]:
    """Return the name and the value of NAME=VALUE, a number, true or false where it reads so; `Options` judges both.

    Raises OptionError for a text without "=".
    """
    name, equals, value = text.partition("=")
    if not equals:
        raise OptionError(f"{text!r} is not NAME=VALUE")
    if value.lower() in _SWITCHED:
        return name, _SWITCHED[value.lower()]
    for number in (int, float):
        try:
            return name, number(value)
        except ValueError:
            continue
    return name, value


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a phrase that names what an unknown name may have meant."""
    names = sorted(known)
    close = get_close_matches(name, names, n=1, cutoff=0.5)
    return f"did you mean {close[0]!r}?" if close else f"known: {', '.join(names)}"


def _check(name: str, value: object, default: object, bounds: Mapping[str, Any]) -> None:
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise OptionError(f"option {name!r} is {value!r}; it must be true or false")
    elif isinstance(default, str):
        if value not in bounds["choices"]:
            raise OptionError(f"option {name!r} is {value!r}; it must be one of {', '.join(bounds['choices'])}")
    else:
        _check_number(name, value, default, bounds)


def _check_number(name: str, value: object, default: object, bounds: Mapping[str, Any]) -> None:
    right = isinstance(value, int | float) if isinstance(default, float) else isinstance(value, int)
    if not right or isinstance(value, bool):
        raise OptionError(f"option {name!r} takes a number like {default!r}, not {value!r}")
    low, high = bounds["low"], bounds["high"]
    if not low <= value <= high:
        raise OptionError(f"option {name!r} is {value!r}; it must lie between {low} and {high}")
