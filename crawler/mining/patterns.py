"""Frequent sets of terms, rules between them, and collocations: words that stand side by side."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from mlxtend.frequent_patterns import fpgrowth
from nltk.collocations import BigramAssocMeasures, BigramCollocationFinder

from cleaning.terms import is_unspaced
from crawler.errors import MiningError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from crawler.mining.term_counts import TermCounts

_Numbers = frozenset[int]
_TERMS_MAX = 400
_LIFT_MIN = 1.2
# Rarer pairs say little, and the number of sets explodes with them.
_PAIRS_WANTED = 2_000
_PAIRS_MAX = 50_000
_DOCUMENTS_MIN = 3
_COLLOCATIONS_MIN = 3


@dataclass(frozen=True, slots=True)
class TermSet:
    """Terms that occur together: in `documents` documents, a `share` of all."""

    terms: tuple[str, ...]
    documents: int
    share: float


@dataclass(frozen=True, slots=True)
class TermRule:
    """A `confidence` share of the documents with `antecedent` has `consequent` too: `lift` times that of all."""

    antecedent: tuple[str, ...]
    consequent: tuple[str, ...]
    documents: int
    confidence: float
    lift: float


@dataclass(frozen=True, slots=True)
class Collocation:
    """Two words that stand side by side, without stop words between them, and the log-likelihood ratio of it."""

    words: tuple[str, str]
    count: int
    ratio: float


@dataclass(frozen=True, slots=True)
class Patterns:
    """What often occurs together in documents; each list has the strongest first."""

    documents: int
    min_share: float
    sets: list[TermSet]
    rules: list[TermRule]
    collocations: list[Collocation]


def find_patterns(
    counts: TermCounts,
    *,
    min_share: float | None = None,
    min_confidence: float = 0.3,
    max_terms: int = 3,
    limit: int = 20,
) -> Patterns:
    """Find the sets of two to `max_terms` terms that `min_share` of the documents have, and rules between them.

    By default that is the smallest share that at most 2,000 pairs of terms have, and three documents or more.

    The sets are found by FP-growth (Han et al. 2000) among the 400 terms that most documents have. A rule has at least
    `min_confidence` and a lift of 1.2. Collocations are ranked by the log-likelihood ratio (Dunning 1993). Each list
    has at most `limit` entries. Raises MiningError for shares outside 0 to 1.
    """
    for name, value in {"min_share": min_share, "min_confidence": min_confidence}.items():
        if value is not None and not 0 < value <= 1:
            raise MiningError(f"{name} is {value}; it must be above 0 and at most 1")
    if max_terms < 2:  # noqa: PLR2004 — a pattern joins terms
        raise MiningError(f"max_terms is {max_terms}; it must be 2 or more")
    total = len(counts.documents)
    presence, columns = _frequent_terms(counts)
    share = _enough(presence, min_share)
    table = pd.DataFrame(presence.toarray(), columns=columns)
    frequent = fpgrowth(table, min_support=share, use_colnames=True, max_len=max_terms)
    supports = zip(frequent["itemsets"], frequent["support"], strict=True)
    sizes = {numbers: round(support * total) for numbers, support in supports}
    sets = _closed_sets(counts, sizes)
    rules = _rules(counts, sizes, min_confidence)
    return Patterns(total, share, sets[:limit], rules[:limit], _collocations(counts, limit))


def _frequent_terms(counts: TermCounts) -> tuple[Any, np.ndarray[Any, Any]]:
    """Return which document has which of the terms that most documents have, and the numbers of these terms."""
    presence = counts.presence
    frequencies = np.asarray(presence.sum(axis=0)).ravel()
    columns = np.sort(np.argsort(-frequencies, kind="stable")[:_TERMS_MAX])
    return presence[:, columns], columns


def _enough(presence: Any, min_share: float | None) -> float:
    """Return the share of documents that makes a set frequent. Raises MiningError if too many pairs have it."""
    total = presence.shape[0]
    together = np.triu((presence.T.astype(np.int32) @ presence.astype(np.int32)).toarray(), 1)
    pairs = np.sort(together[together >= _DOCUMENTS_MIN])[::-1]
    if min_share is None:
        fewest = pairs[_PAIRS_WANTED] + 1 if len(pairs) > _PAIRS_WANTED else _DOCUMENTS_MIN
        return float(min(fewest, total) / total)
    count = int((pairs >= min_share * total).sum())
    if count > _PAIRS_MAX:
        enough = (pairs[_PAIRS_MAX] + 1) / total
        raise MiningError(
            f"min_share is {min_share:g}, which {count:,} pairs of terms have; at most {_PAIRS_MAX:,} are looked at: "
            f"choose {enough:.3f} or more"
        )
    return max(min_share, float(1 / total))


def _closed_sets(counts: TermCounts, sizes: Mapping[_Numbers, int]) -> list[TermSet]:
    """Return the sets of several terms of which no larger one is as frequent, the most frequent first."""
    total = len(counts.documents)
    several = [numbers for numbers in sizes if len(numbers) > 1]
    parts = ((numbers - {number}, sizes[numbers]) for numbers in several for number in numbers)
    open_sets = {part for part, size in parts if sizes[part] == size}
    sets = [
        TermSet(_words(counts, numbers), sizes[numbers], sizes[numbers] / total)
        for numbers in several
        if numbers not in open_sets
    ]
    return sorted(sets, key=lambda term_set: (-term_set.documents, term_set.terms))


def _rules(counts: TermCounts, sizes: Mapping[_Numbers, int], min_confidence: float) -> list[TermRule]:
    """Return the rules that name one term; none of them if fewer terms already say it as surely."""
    total = len(counts.documents)
    confidences = {
        (numbers - {number}, number): size / sizes[numbers - {number}]
        for numbers, size in sizes.items()
        if len(numbers) > 1
        for number in numbers
    }
    rules = [
        TermRule(
            _words(counts, antecedent), _words(counts, [consequent]), sizes[antecedent | {consequent}], confidence, lift
        )
        for (antecedent, consequent), confidence in confidences.items()
        if confidence >= min_confidence
        and (lift := confidence * total / sizes[frozenset([consequent])]) >= _LIFT_MIN
        and all(confidences.get((antecedent - {number}, consequent), 0) < confidence for number in antecedent)
    ]
    return sorted(rules, key=lambda rule: (-rule.lift * rule.documents**0.5, rule.antecedent, rule.consequent))


def _words(counts: TermCounts, numbers: Iterable[int]) -> tuple[str, ...]:
    return tuple(sorted(counts.words[number] for number in numbers))


def _collocations(counts: TermCounts, limit: int) -> list[Collocation]:
    # None keeps the last word of a document and the first one of the next apart.
    sequences = ([*sequence.tolist(), None] for sequence in counts.sequences)
    finder = BigramCollocationFinder.from_words(chain.from_iterable(sequences))
    finder.apply_freq_filter(_COLLOCATIONS_MIN)
    finder.apply_word_filter(lambda word: word is None)
    scored = finder.score_ngrams(BigramAssocMeasures.likelihood_ratio)
    # Pairs of characters overlap, so each stands beside its neighbour.
    pairs = ((pair, ratio) for pair, ratio in scored if not all(is_unspaced(counts.terms[number]) for number in pair))
    return [
        Collocation((counts.words[first], counts.words[second]), finder.ngram_fd[first, second], float(ratio))
        for (first, second), ratio in islice(pairs, limit)
    ]
