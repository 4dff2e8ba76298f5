"""`python -m research.training DATA`: train the model of the method `default`, or evaluate it by cross-validation."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from cleaning.classifier.shipped import SHIPPED_MODEL, pin_shipped_model
from cleaning.errors import ModelError
from research.training import annotate
from research.training.data import SETS, hash_sets, read_examples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from research.training.data import Example

_FAILED = 1
_READERS_COMMANDS = frozenset({"annotate", "agreement"})
_MAX_MODEL_BYTES = 2_000_000
_MIN_HOSTS = 10  # training leaves out parts of them in turn, at two levels
_EPILOG = """\
examples:
  python -m research.training ../shared/data                     train on all pages, write the package's model
  python -m research.training ../shared/data --folds FOLDER      train five models, each without a fifth of the hosts
  python -m research.training ../shared/data --sets fundus-dev,wcxb-dev --out FILE
  python -m research.training ../shared/data --folds FOLDER --card docs/model-card.md

A model takes some minutes. A fold that exists already, of the same data and code, is not trained again. The same data
and code give the same bytes. `python research/quality.py --cross-validate` takes FOLDER; its file pages.jsonl has
the score of each page.

`python -m research.training annotate --help` shows how readers mark the blocks of pages.

exit code: 0 done, 1 a model cannot be written or used, 2 wrong usage, no data or no LightGBM
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command with these arguments (default: those of the process); return the exit code."""
    whole = sys.argv[1:] if arguments is None else list(arguments)
    if whole and whole[0] in _READERS_COMMANDS:
        return annotate.main(whole)
    parser = _parser()
    options = parser.parse_args(whole)
    if options.folds is None and options.card:
        parser.error("--card needs --folds FOLDER: its figures come from cross-validation")
    _check_library(parser)
    examples = _read(parser, options.data, options.sets)
    try:
        return _cross_validate(options, examples) if options.folds else _train(options.out, examples)
    except (ModelError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return _FAILED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m research.training",
        description="Train the model of the method `default`, or evaluate it by cross-validation over hosts.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "data", type=Path, metavar="DATA", help="folder with extraction/SET for each set, pool and sites"
    )
    parser.add_argument(
        "--sets",
        type=_sets,
        metavar="SETS",
        default=tuple(SETS),
        help=f"some of {','.join(SETS)}; default: all",
    )
    parser.add_argument(
        "--out", type=Path, metavar="FILE", default=SHIPPED_MODEL, help="the model; its hash is written beside it"
    )
    parser.add_argument(
        "--folds", type=Path, metavar="FOLDER", help="train and evaluate models by cross-validation instead"
    )
    parser.add_argument("--card", type=Path, metavar="FILE", help="write the model card of --out and the folds")
    return parser


def _check_library(parser: argparse.ArgumentParser) -> None:
    try:
        import lightgbm  # noqa: F401, PLC0415 — from an extra; not needed for --help
    except (ImportError, OSError) as error:  # OSError: the system has no libgomp
        parser.error(f"training needs LightGBM ({error}): pip install 'blocksieve[train]'")


def _sets(text: str) -> tuple[str, ...]:
    chosen = set(text.split(","))
    if chosen - SETS.keys():
        raise argparse.ArgumentTypeError(f"{text!r} names no sets; there are {', '.join(SETS)}")
    return tuple(name for name in SETS if name in chosen)


def _read(parser: argparse.ArgumentParser, data: Path, sets: Sequence[str]) -> list[Example]:
    for name in sets:
        if SETS[name].pools:
            continue
        truth = data / "extraction" / name / "truth.jsonl"
        if not truth.is_file():
            parser.error(f"there is no {truth}: DATA is the folder that has extraction/{name}")
    try:
        examples = read_examples(data, sets)
    except (OSError, ValueError, KeyError) as error:
        parser.error(f"the data in {data} cannot be read: {error!r}")
    if len({example.host for example in examples if example.size}) < _MIN_HOSTS:
        parser.error(f"the data in {data} has too few hosts: training leaves some out, and needs {_MIN_HOSTS}")
    return examples


def _train(out: Path, examples: Sequence[Example]) -> int:
    from research.training.fit import fit_model as fit  # noqa: PLC0415 — imports LightGBM

    sys.stderr.write(f"training on {len(examples)} pages\n")
    fit(examples).write(out)
    if out == SHIPPED_MODEL:
        pin_shipped_model()
    size = out.stat().st_size
    if size > _MAX_MODEL_BYTES:
        sys.stderr.write(f"{out} has {size:,} bytes; the package takes at most {_MAX_MODEL_BYTES:,}\n")
        return _FAILED
    sys.stderr.write(f"{out}: {size:,} bytes\n")
    return 0


def _cross_validate(options: argparse.Namespace, examples: Sequence[Example]) -> int:
    from research.training import card, folds  # noqa: PLC0415 — as above

    hashes = hash_sets(options.data, options.sets)
    inputs = folds.hash_inputs(hashes)
    folds.train_folds(examples, options.folds, inputs)
    scores = folds.score_folds(examples, options.folds)
    if options.card:
        card.Card(options.out, hashes, examples, scores).write(options.card)
    sys.stderr.write(card.scores_by_set(scores))
    return 0


if __name__ == "__main__":
    sys.exit(main())
