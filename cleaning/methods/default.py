"""Our own method: a trained classifier scores every block in two stages, the second from the first one's scores.

cleaning/README.md describes the method, docs/model-card.md its training.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cleaning.blocks import Decision, Reason
from cleaning.classifier.decide import decide
from cleaning.classifier.signals import read_signals
from cleaning.input.visibility import hidden_paragraphs
from cleaning.leaf_table import LeafTable, build_leaf_table, read_leaf_table
from cleaning.leaves import walk
from cleaning.metadata.statements import read_statements
from cleaning.methods.method import Method, MethodResult

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cleaning.blocks import Page
    from cleaning.classifier.model import Model, Prediction
    from cleaning.leaves import Leaf
    from cleaning.metadata.statements import Statements
    from cleaning.options import Options

_CITATION = "Blocksieve's own; see cleaning/README.md"


def trained_method(load: Callable[[], Model]) -> Method:
    """Return the method of a model that is loaded at its first use."""
    found = _TrainedMethod(load)
    return Method(
        found.segment,
        found.score,
        found.decide,
        _CITATION,
        decide_page=found.decide_page,
        cuts_leaves=True,
        scale="probability of being main text, 0 to 1",
    )


class _TrainedMethod:
    """The steps of the method; `decide_page` decides the same as the three others without building leaves."""

    def __init__(self, load: Callable[[], Model]) -> None:
        self._load = load

    def segment(self, page: Page, options: Options) -> list[Leaf]:  # noqa: ARG002 — all methods share this signature
        return walk(page.root)

    def score(self, page: Page, leaves: Sequence[Leaf], options: Options) -> list[float]:  # noqa: ARG002 — as above
        """Return the probability of each leaf to be main text."""
        found = self._predict(page, read_statements(page.root), build_leaf_table(leaves))
        scores: list[float] = found.scores.tolist()
        return scores

    def decide(
        self,
        page: Page,
        leaves: Sequence[Leaf],
        scores: Sequence[float],
        options: Options,
    ) -> list[Decision]:
        """Keep the leaves with the best expected F1 (option `favour`: F0.5 or F2) of the page's words."""
        table = build_leaf_table(leaves)
        found = self._predict(page, read_statements(page.root), table)
        return _without_hidden(table, decide(table, found._replace(scores=np.array(scores, np.float64)), options))

    def decide_page(self, page: Page, stated: Statements, options: Options) -> MethodResult:
        """Return the decisions on a page, its type and the type's probability; no type for a page without text."""
        whole = read_leaf_table(page.root)
        within = whole.head(options.max_blocks)
        if not within.blocks:
            return MethodResult([])
        found = self._predict(page, stated, within)
        decisions = _without_hidden(within, decide(within, found, options))
        beyond = [Decision(block, 0.0, Reason.TRUNCATED) for block in whole.blocks[options.max_blocks :]]
        return MethodResult(decisions + beyond, found.type, found.confidence)

    def _predict(self, page: Page, stated: Statements, table: LeafTable) -> Prediction:
        return self._load().predict(table, read_signals(page, stated))


def _without_hidden(table: LeafTable, decisions: list[Decision]) -> list[Decision]:
    """Return the decisions with the kept paragraphs that nobody sees dropped."""
    kept = [number for number, decision in enumerate(decisions) if decision.kept]
    for number in hidden_paragraphs(table, kept):
        decisions[number] = replace(decisions[number], reason=Reason.HIDDEN)
    return decisions
