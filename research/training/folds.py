"""Cross-validation by host: each model is trained without some hosts, and scored on the pages of these."""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import lightgbm

from cleaning.classifier.decide import decide
from cleaning.classifier.model import Model, Prediction
from cleaning.metadata.languages import identify_language
from cleaning.options import Options
from research.training.fit import PARTS, fit_model, part_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cleaning.blocks import PageType
    from cleaning.text_score import TextScore
    from research.training.data import Example

FOLDS = 5
# The modules that a model depends on, beside the data.
_ROOT = Path(__file__).parents[2]
_SOURCES = (
    "cleaning/domains.py cleaning/leaf_table.py cleaning/leaves.py cleaning/parse.py cleaning/terms.py "
    "cleaning/text_score.py cleaning/metadata/elements.py cleaning/metadata/statements.py "
    "cleaning/classifier/calibration.py cleaning/classifier/features.py cleaning/classifier/hints.py "
    "cleaning/classifier/lexicon.py cleaning/classifier/model.py cleaning/classifier/signals.py "
    "research/training/annotations.py research/training/data.py research/training/fit.py "
    "research/training/gold.py research/training/pool.py research/training/variants.py "
    "research/training/word_scores.py cleaning/data/hints.toml"
).split()


@dataclass(frozen=True, slots=True)
class PageScore:
    """The score of a page by a model without its host.

    `guess`, the predicted type, is None for a page without text; `type` is None if it is not labelled.
    """

    id: str
    set: str
    host: str
    language: str
    type: PageType | None
    guess: PageType | None
    confidence: float
    score: TextScore


def fold_of(host: str) -> int:
    """Return the fold (0 to FOLDS - 1) that a host is in."""
    return part_of(host) * FOLDS // PARTS


def hash_inputs(data: dict[str, str]) -> dict[str, str]:
    """Return the hashes of everything that a model depends on; `data` has those of the sets."""
    code = hashlib.sha256()
    for source in _SOURCES:
        code.update(source.encode() + hashlib.sha256((_ROOT / source).read_bytes()).digest())
    return {**data, "code": code.hexdigest(), "lightgbm": str(lightgbm.__version__)}


def train_folds(examples: Sequence[Example], folder: Path, inputs: dict[str, str]) -> None:
    """Write a model for each fold, trained on the other folds, and folds.json with the fold of each host.

    An existing model with the same inputs is not trained again. Raises ValueError if there are too few hosts.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for fold in range(FOLDS):
        model, made_of = folder / f"fold-{fold}.npz", folder / f"fold-{fold}.json"
        if model.exists() and made_of.exists() and json.loads(made_of.read_text("utf-8")) == inputs:
            sys.stderr.write(f"fold {fold}: {model} exists already\n")
            continue
        known = [example for example in examples if fold_of(example.host) != fold]
        sys.stderr.write(f"fold {fold}: training on {len(known)} of {len(examples)} pages\n")
        made_of.unlink(missing_ok=True)
        fit_model(known).write(model)
        made_of.write_text(json.dumps(inputs, indent=2) + "\n", "utf-8")
    hosts = {host: fold_of(host) for host in sorted({example.host for example in examples})}
    (folder / "folds.json").write_text(json.dumps({"hosts": hosts}, indent=0) + "\n", "utf-8")


def score_folds(examples: Sequence[Example], folder: Path) -> list[PageScore]:
    """Return the score of each page by the model without its host, and write the scores to pages.jsonl."""
    models = [Model.load(folder / f"fold-{fold}.npz") for fold in range(FOLDS)]
    scores = [score_page(models[fold_of(example.host)], example) for example in examples]
    lines = (json.dumps(asdict(score), ensure_ascii=False) + "\n" for score in scores)
    (folder / "pages.jsonl").write_text("".join(lines), "utf-8")
    return scores


def score_page(model: Model, example: Example) -> PageScore:
    """Return a model's score on a page."""
    grouped = example.id, example.set, example.host, identify_language(example.gold) or "unknown", example.type
    if not example.size:
        return PageScore(*grouped, None, 0.0, example.score(""))
    predicted = model.predict(example.table, example.signals)
    return PageScore(*grouped, predicted.type, predicted.confidence, score_blocks(example, predicted))


def score_blocks(example: Example, predicted: Prediction) -> TextScore:
    """Return the score of the text that this prediction keeps."""
    decisions = decide(example.table, predicted, Options())
    return example.score("\n".join(decision.block.text for decision in decisions if decision.kept))
