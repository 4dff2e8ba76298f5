"""A cleaning method, its result on a page, and the table of methods, which other distributions can extend."""

from __future__ import annotations

import re
from collections.abc import MutableMapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from cleaning.declare import did_you_mean
from cleaning.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from importlib.metadata import EntryPoint

    import numpy as np

    from cleaning.blocks import Decision, Page, PageType
    from cleaning.leaf_table import LeafTable
    from cleaning.leaves import Leaf
    from cleaning.metadata.statements import Statements
    from cleaning.options import Options


class SiteJudge(Protocol):
    """What readers have taught about a site: `cleaning.teaching.SiteModel` is one."""

    def judge(self, table: LeafTable, scores: np.ndarray, url: str | None = None) -> np.ndarray | None:
        """Return the scores (n) of a page's n blocks in place of the trained ones; None if it does not fit the page."""

    @property
    def field_weights(self) -> Mapping[str, Mapping[str, float]]:
        """The weights that replace the trained ones of titles, authors and dates, by field and feature."""


class MethodResult(NamedTuple):
    """A method's decisions on a page; `type` and `confidence` (0 to 1) are None for methods that tell no page type.

    `taught` has the positions of the blocks that a site's model decides otherwise; None without a model that fits.
    """

    decisions: list[Decision]
    type: PageType | None = None
    confidence: float | None = None
    taught: frozenset[int] | None = None


@dataclass(frozen=True, slots=True)
class Method:
    """A cleaning method in three steps.

    `segment` cuts the page into leaves: each text of the page is in exactly one of them. `score` gives each leaf a
    number on the method's own scale. `decide` keeps each leaf or says why not. The last two see at most `max_blocks`
    leaves, and are not called for a page without leaves. `needs` names a field of `Page` that the method cannot do
    without. `decide_page`, if any, is a faster way to the same decisions. `cuts_leaves` says that `segment` returns the
    leaves of the walk (`cleaning.leaves.walk`) as they are: the page's structure is then read without cutting it again.
    `scale` says to readers what a score means. `decide_taught` decides as the model of the page's site says; None for
    a method that cannot be taught.
    """

    segment: Callable[[Page, Options], list[Leaf]]
    score: Callable[[Page, Sequence[Leaf], Options], list[float]]
    decide: Callable[[Page, Sequence[Leaf], Sequence[float], Options], list[Decision]]
    citation: str
    needs: Literal["layout", "template"] | None = None
    decide_page: Callable[[Page, Statements, Options], MethodResult] | None = None
    cuts_leaves: bool = False
    scale: str = "on the method's own scale"
    decide_taught: Callable[[Page, Statements, Options, SiteJudge], MethodResult] | None = None


ENTRY_POINTS = "blocksieve.methods"
"""The group of entry points by which an installed distribution adds methods."""

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")


class MethodTable(MutableMapping[str, Method]):
    """The methods by name: our own, those of installed distributions, and those that were registered.

    The names of distributions' methods are read once. The method itself is imported when it is first asked for; only
    then a broken one raises OptionError. Users of other methods do not notice it.
    """

    def __init__(self, own: Mapping[str, Method]) -> None:
        self._own = dict(own)
        self._found: dict[str, Method] = {}

    def __getitem__(self, name: str) -> Method:
        """Raises OptionError for a method of a distribution that cannot be used, KeyError for an unknown name."""
        if name not in self._found:
            self._found[name] = self._find(name)
        return self._found[name]

    def find(self, name: str) -> Method:
        """Return a method. Raises OptionError for an unknown name, with the most similar one, and as `[name]` does."""
        if name not in self:
            raise OptionError(f"unknown method {name!r}; {did_you_mean(name, self)}")
        return self[name]

    def __setitem__(self, name: str, method: Method) -> None:
        if not _NAME.fullmatch(name):
            raise OptionError(
                f"the name of a method is {name!r}; it takes up to 40 small letters, digits, - and _, a letter first"
            )
        if name in self:
            raise OptionError(f"the name {name!r} of a method is taken; choose another")
        if not isinstance(method, Method):
            raise OptionError(f"the method {name!r} is a {type(method).__name__}; it must be a cleaning.methods.Method")
        self._own[name] = method

    def __delitem__(self, name: str) -> None:
        del self._own[name]
        self._found.pop(name, None)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._own, *self._entry_points]))

    def __len__(self) -> int:
        return len(self._own.keys() | self._entry_points.keys())

    def __contains__(self, name: object) -> bool:
        return name in self._own or name in self._entry_points

    @cached_property
    def _entry_points(self) -> dict[str, list[EntryPoint]]:
        entry_points_by_name: dict[str, list[EntryPoint]] = {}
        for entry_point in sorted(
            entry_points(group=ENTRY_POINTS), key=lambda entry_point: (entry_point.name, _distribution(entry_point))
        ):
            entry_points_by_name.setdefault(entry_point.name, []).append(entry_point)
        return entry_points_by_name

    def _find(self, name: str) -> Method:
        installed = self._entry_points.get(name, [])
        if not installed:
            return self._own[name]
        names = " and ".join(map(_distribution, installed))
        if name in self._own:
            raise OptionError(f"the distribution {names} has a method {name!r}, a name that is taken; uninstall it")
        if len(installed) > 1:
            raise OptionError(f"the distributions {names} both have a method {name!r}; uninstall one of them")
        return _load(installed[0])


def _load(installed: EntryPoint) -> Method:
    name, distribution = installed.name, _distribution(installed)
    try:
        method = installed.load()
    except Exception as error:
        # Code of others: whatever it raises is the reason why the method cannot be used.
        why = f"{type(error).__name__}: {error}"
        raise OptionError(
            f"the method {name!r} of the distribution {distribution} cannot be imported: {why}"
        ) from error
    if not isinstance(method, Method):
        raise OptionError(
            f"the method {name!r} of the distribution {distribution} is a {type(method).__name__}; "
            "it must be a cleaning.methods.Method"
        )
    return method


def _distribution(installed: EntryPoint) -> str:
    return installed.dist.name if installed.dist else installed.value
