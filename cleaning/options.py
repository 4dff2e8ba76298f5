"""Every option of `cleaning.clean`, declared once: type, default, bounds and help."""

from __future__ import annotations

from dataclasses import dataclass
from math import isclose
from typing import TYPE_CHECKING, Any, Literal, TypedDict, get_args

from cleaning.declare import declared_options, did_you_mean, integer, number, one_of, option, switch
from cleaning.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

Favour = Literal["balanced", "precision", "recall"]
_FAVOURS: tuple[Favour, ...] = get_args(Favour)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """The options of `cleaning.clean`; an option of one method begins its help with the method's name."""

    max_bytes: int = option(10_000_000, integer(1_000, 1_000_000_000), "Largest page that is read, in bytes.")
    max_blocks: int = option(
        20_000, integer(100, 10_000_000), "Number of blocks of a page that are scored. Further blocks are dropped."
    )
    favour: Favour = option(
        "balanced",
        one_of(_FAVOURS),
        "default: what matters more for a doubtful block. `precision` drops it, `recall` keeps it.",
    )
    comments: bool = option(False, switch(), "default: keep readers' comments on every type of page.")

    weighted_alpha: float = option(
        0.3, number(0.0, 1.0), "weighted: weight of title words. The weights obey alpha <= beta <= gamma and sum to 1."
    )
    weighted_beta: float = option(0.3, number(0.0, 1.0), "weighted: weight of link words.")
    weighted_gamma: float = option(0.4, number(0.0, 1.0), "weighted: weight of content words.")
    weighted_distance: int = option(
        3, integer(0, 7), "weighted: largest number of bits between the fingerprints of duplicate blocks of a page."
    )
    weighted_small_words: int = option(
        10,
        integer(0, 1_000),
        "weighted: a block with fewer words is decided by the punctuation of the block and its neighbour.",
    )
    pab_outer_share: float = option(
        0.5, number(0.0, 1.0), "pab: a block is noise if more than this share of its links leads to other sites."
    )
    eniw_noise: bool = option(
        False, switch(), "eniw: keep every block with text, noise too: the raw data that papers compare with."
    )
    subtree_generations: int = option(
        2, integer(1, 100), "subtree: G, the number of levels from a text up to the root of its sub-tree."
    )
    subtree_alpha: int = option(
        40, integer(0, 100_000), "subtree: smallest number of characters of a text that forms a sub-tree."
    )
    subtree_beta: int = option(
        100, integer(0, 1_000_000), "subtree: smallest number of characters of all text in a sub-tree."
    )
    subtree_gamma: float = option(0.3, number(0.0, 1.0), "subtree: largest share of link text in a sub-tree.")
    vce_threshold: int = option(
        3, integer(0, 6), "vce: an element with more visual differences than this begins a new block."
    )
    vce_link_density: float = option(
        0.5, number(0.0, 1.0), "vce: a block is added to its parent if its share of link text is not larger than this."
    )
    kfe_clusters: int = option(3, integer(1, 100), "kfe: number of clusters of blocks. The best cluster is kept.")
    coreex_link_ratio: float = option(
        0.9, number(0.0, 1.0), "coreex: a child node is kept if its share of unlinked text is larger than this."
    )
    coreex_weight: float = option(
        0.99, number(0.0, 1.0), "coreex: weight of the share of unlinked text in a node's score. The rest is length."
    )
    econ_min_marks: int = option(
        1, integer(1, 1_000), "econ: a part of the main text with fewer punctuation marks than this is noise."
    )

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Options:
        """Return the options with the given values.

        Raises OptionError for an unknown name, a value of another type and a value out of bounds. The message names
        the option, its value and what it takes; for an unknown name, the nearest known one.
        """
        known = declared_options(cls)
        for name, value in values.items():
            if name not in known:
                raise OptionError(f"unknown option {name!r}; {did_you_mean(name, known)}")
            try:
                known[name].type.check(value)
            except ValueError as error:
                raise OptionError(f"the option {name!r} is {value!r}; {error}") from error
        options = cls(**values)
        options._check_weights()
        return options

    def _check_weights(self) -> None:
        weights = (self.weighted_alpha, self.weighted_beta, self.weighted_gamma)
        if list(weights) != sorted(weights) or not isclose(sum(weights), 1, abs_tol=1e-9):
            raise OptionError(
                f"the options weighted_alpha, weighted_beta and weighted_gamma are {weights}; none may be larger than "
                "the next, and they must add up to 1"
            )


class CleaningOptions(TypedDict, total=False):
    """The types of `clean(**options)`: the fields of Options, all optional.

    A type checker needs them written down. `tests/cleaning/test_options.py` compares them with Options.
    """

    max_bytes: int
    max_blocks: int
    favour: Favour
    comments: bool
    weighted_alpha: float
    weighted_beta: float
    weighted_gamma: float
    weighted_distance: int
    weighted_small_words: int
    pab_outer_share: float
    eniw_noise: bool
    subtree_generations: int
    subtree_alpha: int
    subtree_beta: int
    subtree_gamma: float
    vce_threshold: int
    vce_link_density: float
    kfe_clusters: int
    coreex_link_ratio: float
    coreex_weight: float
    econ_min_marks: int


def parse_option(text: str) -> tuple[str, Any]:
    """Return the name and the value of an option given as NAME=VALUE.

    Raises OptionError for a text without "=", an unknown name and a value that the option does not take.
    """
    name, equals, value = text.partition("=")
    known = declared_options(Options)
    if not equals:
        raise OptionError(f"{text!r} is not NAME=VALUE")
    if name not in known:
        raise OptionError(f"unknown option {name!r}; {did_you_mean(name, known)}")
    try:
        return name, known[name].type.read(value)
    except ValueError as error:
        raise OptionError(f"the option {name!r} is {value!r}; {error}") from error
