"""The model card: the model, its training data and its measured scores."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

import numpy as np

from cleaning.classifier import features, signals
from cleaning.classifier.model import DOUBTFUL_SCORE, Model
from research.training.data import SETS
from research.training.fit import FIRST_STAGE, SECOND_STAGE, TYPE_RECIPE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from research.training.data import Example
    from research.training.fit import Recipe
    from research.training.folds import PageScore

# The section that is written by hand, and kept when the rest is written again.
_BEGIN, _END = "<!-- written by hand: begin -->", "<!-- written by hand: end -->"
_NOTHING_YET = "Nothing yet."
_MIN_LANGUAGE_PAGES = 10  # pages
_LABELLED = "wcxb-dev"  # the set with labelled page types
_SURE = 0.9
_HALF = 0.5
_NAMED = ("num_leaves", "max_depth", "learning_rate", "min_data_in_leaf", "verbose")  # columns of the table
_SCORES = ("pages", "F1", "precision", "recall", "under 0.5")
_STEPS = {"page type": TYPE_RECIPE, "first stage": FIRST_STAGE, "second stage": SECOND_STAGE}


@dataclass(frozen=True, slots=True)
class Card:
    """The contents of a card: the model's file, the hashes of the sets, the pages and their scores in the folds."""

    model: Path
    digests: Mapping[str, str]
    examples: Sequence[Example]
    outcomes: Sequence[PageScore]

    def write(self, path: Path) -> None:
        """Write the card; the section written by hand in an older card stays.

        Raises ModelError if there is no model.
        """
        template = Template(Path(__file__).with_name("card.md").read_text("utf-8"))
        labelled = [outcome for outcome in self.outcomes if outcome.set == _LABELLED]
        text = template.substitute(
            features=len(features.FIRST_STAGE_NAMES) + len(signals.PAGE_WORD_NAMES),
            second=len(features.VOCABULARY_NAMES) + len(features.NEIGHBOUR_NAMES),
            minimum=_MIN_LANGUAGE_PAGES,
            model=self._model(),
            data=self._data(),
            recipe=_recipe(),
            sets=_scores("set", self.outcomes, lambda outcome: outcome.set),
            types=_scores("type", labelled, lambda outcome: str(outcome.type)),
            languages=self._languages(),
            accuracy=_accuracy(labelled),
            confusion=_confusion(labelled),
            doubtful=DOUBTFUL_SCORE,
            by_hand=f"{_BEGIN}\n{_by_hand(path)}\n{_END}",
        )
        path.write_text(text, "utf-8")

    def _model(self) -> str:
        model = Model.load(self.model)
        stated = self.model.with_name(f"{self.model.name}.sha256").read_text("utf-8").split()[0]
        trees = zip(_STEPS, (model.types, model.first, model.second), strict=True)
        leaves = ((name, step, (step.left == np.arange(len(step.left))).sum()) for name, step in trees)
        rows = [
            ("file", f"`{self.model.name}`, {self.model.stat().st_size:,} bytes, SHA-256 `{stated}`"),
            *((f"trees: {name}", f"{len(step.roots):,} of {count:,} leaves") for name, step, count in leaves),
            ("words of elements and texts", f"{len(model.lexicon.scores):,}"),
            ("words of addresses and stated types", f"{len(model.page_lexicon):,}"),
        ]
        return _table(("", ""), rows)

    def _data(self) -> str:
        rows = []
        for name in self.digests:
            of_set = [example for example in self.examples if example.set == name]
            hosts = len({example.host for example in of_set})
            blocks = sum(example.size for example in of_set)
            words = sum(len(SETS[name].rule.split(example.gold)) for example in of_set)
            figures = (f"{figure:,}" for figure in (len(of_set), hosts, blocks, words))
            rows.append((f"`{name}`", *figures, f"`{self.digests[name]}`"))
        return _table(("set", "pages", "hosts", "blocks", "words of gold text", "SHA-256"), rows)

    def _languages(self) -> str:
        times = Counter((outcome.set, outcome.language) for outcome in self.outcomes)
        known = [outcome for outcome in self.outcomes if times[outcome.set, outcome.language] >= _MIN_LANGUAGE_PAGES]
        return _scores("set, language", known, lambda outcome: f"{outcome.set}, {outcome.language}")


def scores_by_set(outcomes: Sequence[PageScore]) -> str:
    """Return the table of scores by set."""
    return _scores("set", outcomes, lambda outcome: outcome.set) + "\n"


def _recipe() -> str:
    head = ("step", "rounds", "leaves", "learning rate", "minimum rows in a leaf", "depth")
    return _table(head, [(name, *map(str, _figures(recipe))) for name, recipe in _STEPS.items()]) + (
        "\n\nOther parameters: "
        + ", ".join(f"`{name}` {value}" for name, value in FIRST_STAGE.parameters.items() if name not in _NAMED)
        + "; the objective for page types is `multiclass`."
    )


def _figures(recipe: Recipe) -> tuple[float, ...]:
    return recipe.rounds, recipe.leaves, recipe.rate, recipe.min_leaf_rows, recipe.depth


def _scores(kind: str, outcomes: Sequence[PageScore], group: Callable[[PageScore], str]) -> str:
    groups: dict[str, list[PageScore]] = defaultdict(list)
    for outcome in outcomes:
        groups[group(outcome)].append(outcome)
    rows = []
    for name in sorted(groups, key=lambda name: (-len(groups[name]), name)):
        scores = [outcome.score for outcome in groups[name]]
        means = (np.mean([getattr(score, measure) for score in scores]) for measure in ("f1", "precision", "recall"))
        under = np.mean([score.f1 < _HALF for score in scores])
        rows.append((name, f"{len(scores):,}", *(f"{mean:.3f}" for mean in means), f"{under:.1%}"))
    return _table((kind, *_SCORES), rows)


def _accuracy(outcomes: Sequence[PageScore]) -> str:
    right = [outcome.guess is outcome.type for outcome in outcomes]
    if not right:
        return "No page has a labelled type."
    sure = [is_right for is_right, outcome in zip(right, outcomes, strict=True) if outcome.confidence >= _SURE]
    told = f"The type of {np.mean(right):.1%} of the {len(right):,} pages of `{_LABELLED}` is predicted right"
    return f"{told}; of the {len(sure):,} with a confidence of {_SURE} or more, {np.mean(sure or [False]):.1%}."


def _confusion(outcomes: Sequence[PageScore]) -> str:
    times = Counter((outcome.type, outcome.guess) for outcome in outcomes)
    guesses = (*signals.PAGE_TYPES, None)
    rows = [(labelled, *(str(times[labelled, guess]) for guess in guesses)) for labelled in signals.PAGE_TYPES]
    return _table(("", *signals.PAGE_TYPES, "none"), rows)


def _by_hand(path: Path) -> str:
    if not path.exists():
        return _NOTHING_YET
    _, begin, rest = path.read_text("utf-8").partition(_BEGIN)
    text, end, _ = rest.partition(_END)
    return text.strip("\n") if begin and end else _NOTHING_YET


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [list(head)]
    lines += [["---"] * len(lines[0]), *map(list, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
