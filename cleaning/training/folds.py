"""Cross-validation by host: models trained without some hosts each, and what they make of these hosts' pages."""

from __future__ import annotations

import hashlib
import json
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import lightgbm

from cleaning.language import identify
from cleaning.learned.decide import decide
from cleaning.learned.model import Judgement, Model
from cleaning.options import Options
from cleaning.training.data import SETS
from cleaning.training.fit import PARTS, fit, part_of
from cleaning.training.scores import Score, score

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
class Outcome:
    """What a model made of a page of a host that it never saw; `guess` is None for a page without text."""

    id: str
    set: str
    host: str
    language: str
    type: PageType
    guess: PageType | None
    confidence: float
    score: Score


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
        fit(known).write(place)
        made_of.write_text(json.dumps(stamped, indent=2) + "\n", "utf-8")
    hosts = {host: fold_of(host) for host in sorted({example.host for example in examples})}
    (folder / "folds.json").write_text(json.dumps({"hosts": hosts}, indent=0) + "\n", "utf-8")


def judge_folds(examples: Sequence[Example], folder: Path) -> list[Outcome]:
    """Return what came of each page, judged by the model that never saw its host; written to pages.jsonl too."""
    models = [Model.load(folder / f"fold-{fold}.npz") for fold in range(FOLDS)]
    outcomes = [judge_page(models[fold_of(example.host)], example) for example in examples]
    lines = (json.dumps(asdict(outcome), ensure_ascii=False) + "\n" for outcome in outcomes)
    (folder / "pages.jsonl").write_text("".join(lines), "utf-8")
    return outcomes


def judge_page(model: Model, example: Example) -> Outcome:
    """Return what a model makes of a page."""
    grouped = example.id, example.set, example.host, identify(example.gold) or "unknown", example.type
    if not example.size:
        return Outcome(*grouped, None, 0.0, score_text("", example))
    found = model.judge(example.scan, example.facts)
    return Outcome(*grouped, found.type, found.confidence, score_blocks(example, found))


def score_blocks(example: Example, found: Judgement) -> Score:
    """Return the score of the text that is kept by this judgement."""
    decisions = decide(example.scan, found, Options())
    return score_text("\n".join(decision.block.text for decision in decisions if decision.kept), example)


def score_text(text: str, example: Example) -> Score:
    return score(text, example.gold, SETS[example.set])
