"""Cross-validation by host: models trained without some hosts each, and what they make of these hosts' pages."""

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
from cleaning.metadata.page import identify_language
from cleaning.options import Options
from cleaning.training.data import SETS
from cleaning.training.fit import PARTS, fit_model, part_of
from cleaning.training.gold import TextScore, score_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cleaning.blocks import PageType
    from cleaning.training.data import Example

FOLDS = 5
# What a model depends on beside the data.
_SOURCES = (
    "features.py linked_data.py nearby.py parse.py scan.py statements.py strip.py terms.py "
    "learned/context.py learned/counted.py learned/evidence.py learned/facts.py learned/features.py learned/kinds.py "
    "learned/lexicon.py learned/looks.py learned/model.py learned/trees.py learned/vocabulary.py "
    "training/boost.py training/data.py training/fit.py training/labels.py training/words.py"
).split()


@dataclass(frozen=True, slots=True)
class PageScore:
    """What a model made of a page of a host that it never saw; `guess` is None for a page without text."""

    id: str
    set: str
    host: str
    language: str
    type: PageType
    guess: PageType | None
    confidence: float
    score: TextScore


def fold_of(host: str) -> int:
    """Return the fold (0 to FOLDS - 1) that a host is in."""
    return part_of(host) * FOLDS // PARTS


def stamp(data: dict[str, str]) -> dict[str, str]:
    """Return the hashes of all that a model depends on; `data` are those of the sets."""
    package = Path(__file__).parents[1]
    code = hashlib.sha256()
    for source in _SOURCES:
        code.update(source.encode() + hashlib.sha256((package / source).read_bytes()).digest())
    return {**data, "code": code.hexdigest(), "lightgbm": str(lightgbm.__version__)}


def train_folds(examples: Sequence[Example], folder: Path, stamped: dict[str, str]) -> None:
    """Write a model for each fold, trained on the others, and folds.json: which fold each host is in.

    A model that is there already and has the same stamp is not trained again. Raises ValueError where the pages are
    of too few hosts to leave some out.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for fold in range(FOLDS):
        place, made_of = folder / f"fold-{fold}.npz", folder / f"fold-{fold}.json"
        if place.exists() and made_of.exists() and json.loads(made_of.read_text("utf-8")) == stamped:
            sys.stderr.write(f"fold {fold}: {place} is there already\n")
            continue
        known = [example for example in examples if fold_of(example.host) != fold]
        sys.stderr.write(f"fold {fold}: training on {len(known)} of {len(examples)} pages\n")
        made_of.unlink(missing_ok=True)
        fit_model(known).write(place)
        made_of.write_text(json.dumps(stamped, indent=2) + "\n", "utf-8")
    hosts = {host: fold_of(host) for host in sorted({example.host for example in examples})}
    (folder / "folds.json").write_text(json.dumps({"hosts": hosts}, indent=0) + "\n", "utf-8")


def judge_folds(examples: Sequence[Example], folder: Path) -> list[PageScore]:
    """Return what came of each page, judged by the model that never saw its host; written to pages.jsonl too."""
    models = [Model.load(folder / f"fold-{fold}.npz") for fold in range(FOLDS)]
    outcomes = [score_page(models[fold_of(example.host)], example) for example in examples]
    lines = (json.dumps(asdict(outcome), ensure_ascii=False) + "\n" for outcome in outcomes)
    (folder / "pages.jsonl").write_text("".join(lines), "utf-8")
    return outcomes


def score_page(model: Model, example: Example) -> PageScore:
    """Return what a model makes of a page."""
    grouped = example.id, example.set, example.host, identify_language(example.gold) or "unknown", example.type
    if not example.size:
        return PageScore(*grouped, None, 0.0, score_example_text("", example))
    found = model.judge(example.scan, example.facts)
    return PageScore(*grouped, found.type, found.confidence, score_blocks(example, found))


def score_blocks(example: Example, found: Prediction) -> TextScore:
    """Return the score of the text that is kept by this judgement."""
    decisions = decide(example.scan, found, Options())
    return score_example_text("\n".join(decision.block.text for decision in decisions if decision.kept), example)


def score_example_text(text: str, example: Example) -> TextScore:
    return score_text(text, example.gold, SETS[example.set])
