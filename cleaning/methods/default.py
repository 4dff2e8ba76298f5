"""Our own method: a trained classifier scores every block in two stages, the second from the first one's scores.

cleaning/README.md describes the method, docs/model-card.md its training.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from cleaning.blocks import Decision, Reason
from cleaning.classifier.decide import decide
from cleaning.classifier.signals import read_signals
from cleaning.leaf_table import LeafTable, build_leaf_table, read_leaf_table
from cleaning.leaves import walk
from cleaning.metadata.statements import read_statements
from cleaning.methods.method import Method, MethodResult
from cleaning.notes import keep_notes

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Sequence

    from cleaning.blocks import Block, Page
    from cleaning.classifier.model import Model, Prediction
    from cleaning.leaves import Leaf
    from cleaning.metadata.statements import Statements
    from cleaning.methods.method import SiteJudge
    from cleaning.options import Options

# The attribute tokens of an element that is hidden and has no name by which a script could show it.
_NAMELESS = frozenset({"-hidden", "-unseen", "-hidden -unseen"})
# A text below one of these may be what it opens.
_OPENERS = frozenset("button summary dt label h1 h2 h3 h4 h5 h6 th".split())
# Of the kept words: pages that a script shows later hide more.
_MAX_HIDDEN_SHARE = 0.2

# The link by which a reader gets no more letters, and the sentence that says why they got this one.
_UNSUBSCRIBE = re.compile(
    r"\bunsubscribe|\bopt[ -]out\b|abbestellen|newsletter abmelden|abmelden\b|désabonne|désinscri"
    r"|dar(?:se|te|me) de baja|cancelar (?:la |a |su |tu )?(?:suscrip|subscri|inscri)|annulla(?:re)? l.iscrizione"
    r"|disiscri|uitschrijven|afmelden|avsluta prenumeration|avregistrera|afmeld|wypisz|odhlásit|leiratkoz"
    r"|отписаться|відписатися|abonelikten"
    r"|退订|退訂|取消订阅|取消訂閱|配信停止|登録解除|구독 ?취소|수신 ?거부",
    re.IGNORECASE,
)
_RECEIVED = re.compile(
    r"you(?:.re| are)? receiv|because you|sent to you|(?:erh[aä]lt|bekomm)\w* (?:diese|den|sie)|vous recevez"
    r"|recib\w+ este"
    r"|ricevi quest|recebe\w* est|ontvang\w* deze|配信しています|收到此|받으신",
    re.IGNORECASE,
)
_MAX_FAREWELL_TEXTS, _MAX_FAREWELL_WORDS, _MAX_FAREWELL_SHARE = 6, 60, 0.3

_CITATION = "Blocksieve's own; see cleaning/README.md"


def trained_method(load: Callable[[], Model]) -> Method:
    """Return the method of a model that is loaded at its first use."""
    trained = _TrainedMethod(load)
    return Method(
        trained.segment,
        trained.score,
        trained.decide,
        _CITATION,
        decide_page=trained.decide_page,
        cuts_leaves=True,
        scale="probability of being main text, 0 to 1",
        decide_taught=trained.decide_taught,
    )


class _TrainedMethod:
    """The steps of the method; `decide_page` decides the same as the three others without building leaves."""

    def __init__(self, load: Callable[[], Model]) -> None:
        self._load = load

    def segment(self, page: Page, options: Options) -> list[Leaf]:  # noqa: ARG002 — all methods share this signature
        return walk(page.root)

    def score(self, page: Page, leaves: Sequence[Leaf], options: Options) -> list[float]:  # noqa: ARG002 — as above
        """Return the probability of each leaf to be main text."""
        prediction = self._predict(page, read_statements(page.root), build_leaf_table(leaves))
        scores: list[float] = prediction.scores.tolist()
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
        prediction = self._predict(page, read_statements(page.root), table)
        decisions = decide(table, prediction._replace(scores=np.array(scores, np.float64)), options)
        return _completed(page, table, decisions)

    def decide_page(self, page: Page, stated: Statements, options: Options) -> MethodResult:
        """Return the decisions on a page, its type and the type's probability; no type for a page without text."""
        return self._decide(page, stated, options, None)

    def decide_taught(self, page: Page, stated: Statements, options: Options, site_model: SiteJudge) -> MethodResult:
        """Return the decisions on a page by the trained scores and the model of its site, if that fits the page."""
        return self._decide(page, stated, options, site_model)

    def _decide(self, page: Page, stated: Statements, options: Options, site_model: SiteJudge | None) -> MethodResult:
        whole = read_leaf_table(page.root)
        within = whole.head(options.max_blocks)
        if not within.blocks:
            return MethodResult([])
        prediction = self._predict(page, stated, within)
        decisions = _completed(page, within, decide(within, prediction, options))
        scores = None if site_model is None else site_model.judge(within, prediction.scores, page.url)
        taught = None
        if scores is not None:
            untaught = decisions
            decisions = _completed(page, within, decide(within, prediction._replace(scores=scores), options))
            taught = _name_taught(decisions, untaught)
        beyond = [Decision(block, 0.0, Reason.TRUNCATED) for block in whole.blocks[options.max_blocks :]]
        return MethodResult(decisions + beyond, prediction.type, prediction.confidence, taught)

    def _predict(self, page: Page, stated: Statements, table: LeafTable) -> Prediction:
        return self._load().predict(table, read_signals(page, stated))


def _name_taught(decisions: list[Decision], untaught: list[Decision]) -> frozenset[int]:
    """Return the positions of the blocks that are decided otherwise; those that are dropped get TAUGHT as reason."""
    changed = [number for number, before in enumerate(untaught) if before.kept != decisions[number].kept]
    for number in changed:
        if not decisions[number].kept:
            decisions[number] = replace(decisions[number], reason=Reason.TAUGHT)
    return frozenset(changed)


def _completed(page: Page, table: LeafTable, decisions: list[Decision]) -> list[Decision]:
    """Return the decisions with what belongs to kept texts by its place: footnotes; and without what does not."""
    return _without_farewell(keep_notes(page.root, _without_hidden(table, decisions)))


def _without_farewell(decisions: list[Decision]) -> list[Decision]:
    """Return the decisions without the end of a newsletter, which says why one got it and how to get no more."""
    kept = [number for number, decision in enumerate(decisions) if decision.kept]
    near = range(kept[-_MAX_FAREWELL_TEXTS:][0], min(kept[-1] + 3, len(decisions))) if kept else ()
    first = next((number for number in near if _is_farewell(decisions[number].block)), None)
    if first is None:
        return decisions
    if first > 0 and _RECEIVED.search(decisions[first - 1].block.text):
        first -= 1
    ended = [number for number in kept if number >= first]
    words = [sum(decisions[number].block.words for number in numbers) for numbers in (ended, kept)]
    if words[0] > _MAX_FAREWELL_SHARE * words[1]:
        return decisions
    return [
        replace(decision, reason=Reason.FOOTER) if decision.kept and number >= first else decision
        for number, decision in enumerate(decisions)
    ]


def _is_farewell(block: Block) -> bool:
    is_short = 0 < block.words <= _MAX_FAREWELL_WORDS and block.link_words > 0
    return is_short and _UNSUBSCRIBE.search(block.text) is not None


def _without_hidden(table: LeafTable, decisions: list[Decision]) -> list[Decision]:
    """Return the decisions with the kept paragraphs that nobody sees dropped."""
    unseen = {
        number for number, tokens in enumerate(table.node_tokens) if tokens in _NAMELESS and table.tags[number] == "p"
    }
    if not unseen:
        return decisions
    kept = [number for number, decision in enumerate(decisions) if decision.kept]
    for number in _hidden_paragraphs(table, kept, unseen):
        decisions[number] = replace(decisions[number], reason=Reason.HIDDEN)
    return decisions


def _hidden_paragraphs(table: LeafTable, kept: Sequence[int], unseen: Container[int]) -> list[int]:
    """Return the kept blocks, by their numbers, that are `unseen` elements; none if they are much of the text.

    On 2,551 labelled pages, other hidden elements that a method keeps are main text: panels, answers, further pages.
    """
    nodes, words = table.node.tolist(), [block.words for block in table.blocks]
    hidden = [
        number
        for number in kept
        if nodes[number] in unseen and (number == 0 or table.tags[nodes[number - 1]] not in _OPENERS)
    ]
    share = sum(words[number] for number in hidden) / max(1, sum(words[number] for number in kept))
    return hidden if share <= _MAX_HIDDEN_SHARE else []
