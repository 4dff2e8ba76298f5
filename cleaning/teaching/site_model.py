"""The model of a site: what readers' corrections add to the trained scores of the site's pages."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cleaning.classifier.decide import choose_blocks
from cleaning.domains import registered_domain
from cleaning.errors import AnnotationError
from cleaning.leaf_table import Column
from cleaning.teaching.fields import FIELDS, learn_field, taught_weights
from cleaning.teaching.regression import Observations, fit_residuals, likelihoods, log_odds_of
from cleaning.teaching.signatures import read_signatures, signature_features

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence
    from typing import Self

    from cleaning.leaf_table import LeafTable
    from cleaning.teaching.corrections import CorrectedBlock, CorrectedPage
    from cleaning.teaching.signatures import BlockSignature

_FORMAT = 1
# Chosen on the development data (research/teach.py): news sites win less with more of it, shops lose with less.
_SHRINKAGE = 2.0
_MIN_COVERED = 0.5
_MAX_SHRUNK = 0.7
# The sets of features, the most telling first. A site gets the first one by which its corrected pages teach each other.
_EVERY_KIND = ("elements", "elements and shape", "place", "parent", "parent and shape", "text")
_KIND_SETS = (_EVERY_KIND, ("elements", "elements and shape", "text"))
_FOLDS = 10
_MAX_LOSS = 0.02  # of F1, on a corrected page that the others teach
_MAX_LOSERS = 0.2  # share of the pages that may lose more: a reader errs too
_MIN_WEIGHT = 0.05  # a smaller weight changes nothing
_MIN_SUM = 0.5  # a smaller sum is not worth telling
_MARKED_SCORE = 0.95  # a marked block of a corrected page is at least as sure
_FEW_WORDS = 5  # so that shares of pages with little text do not jump
_MODELS_IN_MEMORY = 64

Feature = tuple[str, str]


class Weight(NamedTuple):
    """What a feature adds to the log odds of a block, and the number of corrected pages that have it."""

    log_odds: float
    pages: int


@dataclass(frozen=True, slots=True, eq=False)
class SiteModel:
    """The weights that corrected pages of a site give to the signatures of blocks.

    They are added to the log odds of the trained scores, if the page looks like the corrected ones: half of its words
    must stand in elements that these have (`elements`, with what the weights add to a block there, on average). The
    kept words must not grow or shrink far beyond what the corrections do (`least_share` and `greatest_share` of the
    words kept without them). After a redesign the trained scores are therefore used again. On a corrected page itself
    each mark holds for its text: `marks` has by address and text digest whether to keep it. `fields` has what is added
    to the trained weights of titles, authors and dates. `model` is the SHA-256 of the trained model that the
    corrections were made with.
    """

    pages: int = 0
    model: str = ""
    weights: Mapping[Feature, Weight] = field(default_factory=dict, repr=False)
    elements: Mapping[str, Weight] = field(default_factory=dict, repr=False)
    least_share: float = 1.0
    greatest_share: float = 1.0
    marks: Mapping[str, Mapping[str, bool]] = field(default_factory=dict, repr=False)
    fields: Mapping[str, Mapping[str, float]] = field(default_factory=dict, repr=False)

    @classmethod
    def learn(cls, pages: Iterable[CorrectedPage]) -> Self:
        """Return the model of a site's corrected pages; one that changes nothing for no pages.

        Of several corrections of an address the last one counts. The order of the pages does not matter.
        """
        latest = {page.url: page for page in sorted(pages, key=lambda page: page.corrected_at)}
        taught = [_TaughtPage.of(latest[url]) for url in sorted(latest) if latest[url].teaches]
        if not taught:
            return cls()
        kinds = next((kinds for kinds in _KIND_SETS if _teach_each_other(taught, kinds)), ())
        weights = _fit_weights(taught, kinds)
        shares = [page.share(page.right) for page in taught]
        return cls(
            pages=len(taught),
            model=max(latest.values(), key=lambda page: page.corrected_at).model,
            weights={feature: weight for feature, weight in weights.items() if abs(weight.log_odds) >= _MIN_WEIGHT},
            elements=_sum_by_elements(taught, weights),
            least_share=round(min(1.0, *shares), 3),
            greatest_share=round(max(1.0, *shares), 3),
            marks={url: marks for url in sorted(latest) if (marks := _marks_of(latest[url]))},
            fields=_learn_fields([latest[url] for url in sorted(latest)]),
        )

    def judge(self, table: LeafTable, scores: np.ndarray, url: str | None = None) -> np.ndarray | None:
        """Return the scores (n) of a page's blocks as the site's readers see them, from the trained ones (n).

        None if the model does not fit the page: it looks unlike the corrected ones, or would turn it over.
        """
        page = _TaughtPage.of_signatures(read_signatures(table, scores), scores, table.counts[:, Column.WORDS])
        judged = self._judge(page)
        marks = self.marks.get(url or "")
        if judged is None or not marks:
            return judged
        for number, signature in enumerate(page.signatures):
            keep = marks.get(signature.text)
            if keep is not None:
                judged[number] = max(judged[number], _MARKED_SCORE) if keep else min(judged[number], 1 - _MARKED_SCORE)
        return judged

    @property
    def field_weights(self) -> Mapping[str, Mapping[str, float]]:
        """The weights that replace the trained ones of the corrected fields, by field and feature."""
        return {name: taught_weights(name, added) for name, added in self.fields.items()}

    def _judge(self, page: _TaughtPage) -> np.ndarray | None:
        covered = np.array([signature.elements in self.elements for signature in page.signatures], bool)
        if (page.words * covered).sum() < _MIN_COVERED * page.words.sum():
            return None
        scores = likelihoods(page.log_odds + _sum_weights(page.features, self.weights))
        share = page.share(choose_blocks(scores, page.words, 1.0))
        if not self.least_share * _MAX_SHRUNK <= share <= self.greatest_share / _MAX_SHRUNK:
            return None
        return scores

    def to_json(self) -> str:
        """Return the model as JSON, its weights by size; the same model gives the same text."""
        ordered = sorted(self.weights.items(), key=lambda item: (-abs(item[1].log_odds), item[0]))
        record = {
            "format": _FORMAT,
            "pages": self.pages,
            "model": self.model,
            "least_share": self.least_share,
            "greatest_share": self.greatest_share,
            "weights": [[*feature, *weight] for feature, weight in ordered],
            "elements": [[name, *weight] for name, weight in sorted(self.elements.items())],
            "fields": {name: dict(weights) for name, weights in self.fields.items()},
            "marks": {url: dict(marks) for url, marks in self.marks.items()},
        }
        return json.dumps(record, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the model of `to_json`. Raises AnnotationError for another text."""
        try:
            record: dict[str, Any] = json.loads(text)
            if record["format"] != _FORMAT:
                raise AnnotationError(f"a site's model has format {record['format']!r}; this version reads {_FORMAT}")
            weights = {
                (str(kind), str(name)): Weight(float(log_odds), int(pages))
                for kind, name, log_odds, pages in record["weights"]
            }
            shares = float(record["least_share"]), float(record["greatest_share"])
            elements = {str(name): Weight(float(sums), int(pages)) for name, sums, pages in record["elements"]}
            fields = {
                name: {str(feature): float(weight) for feature, weight in record["fields"][name].items()}
                for name in FIELDS
                if name in record["fields"]
            }
            marks = {url: dict(texts) for url, texts in record["marks"].items()}
            return cls(int(record["pages"]), str(record["model"]), weights, elements, *shares, marks, fields)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            if isinstance(error, AnnotationError):
                raise
            raise AnnotationError(f"this is not the model of a site: {error!r}") from error

    def describe(self, limit: int = 20) -> list[str]:
        """Return what it has learned, the strongest first, at most `limit` lines.

        `drop p.promo < article: -4.1, on 3 corrected pages` says what is added to the log odds of such a block.
        """
        ordered = sorted(self.elements.items(), key=lambda item: (-abs(item[1].log_odds), item[0]))
        return [
            f"{'keep' if weight.log_odds > 0 else 'drop'} {name}: {weight.log_odds:+.1f}, on {weight.pages} corrected "
            f"page{'' if weight.pages == 1 else 's'}"
            for name, weight in ordered[:limit]
            if abs(weight.log_odds) >= _MIN_SUM
        ]


@dataclass(frozen=True, slots=True, eq=False)
class _TaughtPage:
    """A page in columns: for n blocks their log odds, words + 1, what is right, and which of that is known."""

    signatures: Sequence[BlockSignature]
    features: list[tuple[Feature, ...]]
    log_odds: np.ndarray
    words: np.ndarray
    right: np.ndarray
    known: np.ndarray

    @classmethod
    def of(cls, page: CorrectedPage) -> Self:
        def column(read: Any) -> np.ndarray:
            return np.array([read(block) for block in page.blocks])

        def is_known(block: CorrectedBlock) -> bool:
            return page.finished or block.mark is not None

        signatures = [block.signature for block in page.blocks]
        bare = cls.of_signatures(signatures, column(lambda block: block.score), column(lambda block: block.words))
        return replace(
            bare,
            right=column(lambda block: block.right).astype(bool),
            known=column(is_known).astype(bool),
        )

    @classmethod
    def of_signatures(cls, signatures: Sequence[BlockSignature], scores: np.ndarray, words: np.ndarray) -> Self:
        nothing = np.zeros(len(signatures), bool)
        features = [signature_features(signature) for signature in signatures]
        return cls(signatures, features, log_odds_of(scores), words + 1, nothing, nothing)

    def share(self, kept: np.ndarray) -> float:
        """Return the kept words as a share of those that the trained scores keep."""
        plain = choose_blocks(likelihoods(self.log_odds), self.words, 1.0)
        return float((self.words * kept).sum() + _FEW_WORDS) / float((self.words * plain).sum() + _FEW_WORDS)

    def score(self, scores: np.ndarray) -> float:
        """Return the F1 of the words that these scores keep, over the blocks of which it is known what is right."""
        kept = choose_blocks(scores, self.words, 1.0)
        words = self.words * self.known
        both = (words * (kept & self.right)).sum()
        total = (words * kept).sum() + (words * self.right).sum()
        return float(2 * both / total) if total else 1.0


def _learn_fields(pages: Sequence[CorrectedPage]) -> dict[str, dict[str, float]]:
    weights = {name: learn_field(name, [page.fields[name] for page in pages if name in page.fields]) for name in FIELDS}
    return {name: added for name, added in weights.items() if added}


def _sum_by_elements(pages: Sequence[_TaughtPage], weights: Mapping[Feature, Weight]) -> dict[str, Weight]:
    """Return what the weights add to a block in some elements, on average, and the pages that have such a block."""
    sums: dict[str, list[float]] = defaultdict(list)
    pages_by_name: Counter[str] = Counter()
    for page in pages:
        names = [signature.elements for signature in page.signatures]
        pages_by_name.update(set(names))
        for name, total in zip(names, _sum_weights(page.features, weights).tolist(), strict=True):
            sums[name].append(total)
    return {name: Weight(round(sum(sums[name]) / len(sums[name]), 2), pages_by_name[name]) for name in sorted(sums)}


def _marks_of(page: CorrectedPage) -> dict[str, bool]:
    """Return the marks by the digests of their texts; a text that is marked both ways is left out."""
    marks: dict[str, set[bool]] = defaultdict(set)
    for block in page.blocks:
        if block.mark is not None:
            marks[block.signature.text].add(block.mark)
    return {text: kept.pop() for text, kept in sorted(marks.items()) if len(kept) == 1}


def _sum_weights(features: Sequence[Iterable[Feature]], weights: Mapping[Feature, Weight]) -> np.ndarray:
    sums = [sum([weights[feature].log_odds for feature in names if feature in weights]) for names in features]
    return np.array(sums, np.float64)


def _teach_each_other(pages: Sequence[_TaughtPage], kinds: Collection[str]) -> bool:
    """Return True unless pages that are left out in turn become worse by the weights of the others.

    A page that they do not fit neither gains nor loses.
    """
    if len(pages) == 1:
        return True
    gains = []
    for fold in range(min(_FOLDS, len(pages))):
        others = [page for number, page in enumerate(pages) if number % _FOLDS != fold]
        model = SiteModel(
            weights=_fit_weights(others, kinds),
            elements=_sum_by_elements(others, {}),
            least_share=min(1.0, *(page.share(page.right) for page in others)),
            greatest_share=max(1.0, *(page.share(page.right) for page in others)),
        )
        for page in pages[fold::_FOLDS]:
            scores = model._judge(page)  # noqa: SLF001 — the model of this module
            gains.append(0.0 if scores is None else page.score(scores) - page.score(likelihoods(page.log_odds)))
    losers = sum(gain < -_MAX_LOSS for gain in gains)
    return sum(gains) >= 0 and losers <= _MAX_LOSERS * len(pages)


def _fit_weights(pages: Sequence[_TaughtPage], kinds: Collection[str]) -> dict[Feature, Weight]:
    """Return the weights of the features of some kinds; none for no kinds, and if no block is known."""
    if not kinds or not any(page.known.any() for page in pages):
        return {}
    numbers: dict[Feature, int] = {}
    rows = []
    pages_by_feature: Counter[Feature] = Counter()
    for page in pages:
        chosen = [
            [feature for feature in names if feature[0] in kinds]
            for names, known in zip(page.features, page.known.tolist(), strict=True)
            if known
        ]
        rows += [[numbers.setdefault(feature, len(numbers)) for feature in names] for names in chosen]
        pages_by_feature.update({feature for names in chosen for feature in names})
    observations = Observations(
        np.concatenate([page.log_odds[page.known] for page in pages]),
        np.concatenate([page.right[page.known] for page in pages]).astype(np.float64),
        np.sqrt(np.concatenate([page.words[page.known] for page in pages])),
        np.array(rows, np.intp),
    )
    fitted = fit_residuals(observations, len(numbers), _SHRINKAGE).tolist()
    return {feature: Weight(round(fitted[number], 2), pages_by_feature[feature]) for feature, number in numbers.items()}


@lru_cache(maxsize=_MODELS_IN_MEMORY)
def _load_cached(text: str) -> SiteModel:
    return SiteModel.from_json(text)


def load_site_model(text: str | None) -> SiteModel | None:
    """Return the model that a text in JSON describes, from memory if it was loaded before; None for None.

    Raises AnnotationError for another text.
    """
    return None if text is None else _load_cached(text)


def find_site_model(models: Mapping[str, SiteModel], url: str | None) -> SiteModel | None:
    """Return the model of a URL's site, its registered domain; None without one, and without a URL."""
    return models.get(registered_domain(url) or "") if url else None


def write_site_models(models: Mapping[str, SiteModel]) -> str:
    """Return the text of a file with the models of some sites: a line of JSON for each, in the order of the sites."""
    lines = (json.dumps({"site": site, "site_model": json.loads(models[site].to_json())}) for site in sorted(models))
    return "".join(f"{line}\n" for line in lines)


def read_site_models(text: str) -> dict[str, SiteModel]:
    """Return the models of a file by their sites; none for an empty file.

    Raises AnnotationError, which names the line, for a line that is no site's model and for a site that comes twice.
    """
    models: dict[str, SiteModel] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            site, model = record["site"], SiteModel.from_json(json.dumps(record["site_model"]))
            if not isinstance(site, str) or site in models:
                raise AnnotationError(f"the site {site!r} comes twice, or is no name")
        except (ValueError, KeyError, TypeError) as error:
            raise AnnotationError(f"line {number}: {error}") from error
        models[site] = model
    return models
