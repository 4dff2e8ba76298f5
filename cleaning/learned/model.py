"""The trained model: read from its file, which must be the one that its hash names, and asked about a page."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cleaning.errors import ModelError
from cleaning.learned import context, features, kinds, vocabulary
from cleaning.learned.lexicon import Lexicon, pack, unpack, unpack_scores
from cleaning.learned.trees import Trees, probabilities

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cleaning.blocks import PageType
    from cleaning.learned.facts import Facts
    from cleaning.scan import Scan

SHIPPED = Path(__file__).parents[1] / "data" / "default.npz"
_FORMAT = 1


class Judgement(NamedTuple):
    """The scores of a page's blocks (0 to 1, probabilities to be main text), its type and how sure that is (0 to 1)."""

    scores: np.ndarray
    type: PageType
    confidence: float


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """Two looks at the blocks (`first`, `second`), one at the page (`types`), and the words they know."""

    lexicon: Lexicon
    page_lexicon: Mapping[str, np.ndarray]
    types: Trees
    first: Trees
    second: Trees

    def judge(self, scan: Scan, facts: Facts) -> Judgement:
        """Return what the model makes of a page that has blocks."""
        seen = features.read_features(scan, facts, self.lexicon)
        shares = self.type_shares(seen.page, kinds.page_words(scan, facts))
        likeliest = int(shares.argmax())
        rows = np.hstack([seen.rows, np.broadcast_to(shares, (len(seen.rows), len(shares))).astype(np.float32)])
        first = probabilities(self.first.sums(rows))[:, 0]
        words = vocabulary.read_vocabulary(seen.counted, self.lexicon)
        rows = np.hstack([rows, words, context.read_context(seen.counted, first)])
        scores = probabilities(self.second.sums(rows))[:, 0]
        return Judgement(scores, kinds.TYPES[likeliest], float(shares[likeliest]))

    def type_shares(self, page: np.ndarray, words: frozenset[str]) -> np.ndarray:
        """Return how likely the page is of each type: shares that add up to 1."""
        row = np.concatenate([page, kinds.word_sums(words, self.page_lexicon)]).astype(np.float32)
        shares: np.ndarray = probabilities(self.types.sums(row[None, :]))[0]
        return shares

    def write(self, path: Path) -> None:
        """Write the model to a file of plain arrays, and its hash beside it (`sha256sum --check` reads that)."""
        parts = {"lexicon": pack(self.lexicon.scores), "pages": pack(self.page_lexicon)}
        parts |= {"types": self.types.pack(), "first": self.first.pack(), "second": self.second.pack()}
        arrays = {f"{part}.{name}": array for part, packed in parts.items() for name, array in packed.items()}
        arrays["names"] = np.frombuffer(_names().encode(), np.uint8)
        arrays["format"] = np.asarray(_FORMAT)
        packed = io.BytesIO()
        np.savez_compressed(packed, allow_pickle=False, **arrays)
        path.write_bytes(packed.getvalue())
        _hash_file(path).write_text(f"{hashlib.sha256(packed.getvalue()).hexdigest()}  {path.name}\n", "utf-8")

    @classmethod
    def load(cls, path: Path) -> Model:
        """Return the model in a file.

        Raises ModelError for a file that is missing, is not the one whose hash stands beside it, or was trained for
        other features than this version counts.
        """
        arrays = _read(path)
        if int(arrays["format"]) != _FORMAT or arrays["names"].tobytes().decode() != _names():
            raise ModelError(f"the model {path} was trained for another version of Blocksieve; train it again")
        return cls(
            unpack(_part(arrays, "lexicon")),
            unpack_scores(_part(arrays, "pages")),
            *(Trees.unpack(_part(arrays, part)) for part in ("types", "first", "second")),
        )


@cache
def shipped() -> Model:
    """Return the model of the package; read once. Raises ModelError as `Model.load`."""
    return Model.load(SHIPPED)


def _names() -> str:
    return " ".join([*features.NAMES, *kinds.NAMES, *vocabulary.NAMES, *context.NAMES])


def _hash_file(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _read(path: Path) -> dict[str, np.ndarray]:
    try:
        packed = path.read_bytes()
        stated = _hash_file(path).read_text("utf-8").split()[0]
    except (OSError, IndexError) as error:
        raise ModelError(f"the model {path}, or the hash beside it, cannot be read: {error}") from error
    found = hashlib.sha256(packed).hexdigest()
    if found != stated:
        raise ModelError(f"the model {path} is damaged: its SHA-256 is {found}, not {stated}; install it again")
    with np.load(io.BytesIO(packed), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def _part(arrays: Mapping[str, np.ndarray], part: str) -> dict[str, np.ndarray]:
    return {name.removeprefix(f"{part}."): array for name, array in arrays.items() if name.startswith(f"{part}.")}
