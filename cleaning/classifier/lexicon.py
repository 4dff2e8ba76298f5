"""How much words speak for main text: words of class, id, role and tag around a block, and words of texts.

A word's score is a log odds ratio, learned from the training pages: above 0 for main text, below 0 for the rest.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cleaning._native import load_compiled
from cleaning.terms import tokenise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from cleaning._native.words import ScoredWords


_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_MIN_WORD_CHARS, _MAX_WORD_CHARS, _MAX_ELEMENT_WORDS = 2, 20, 40  # characters of a word, words of an element
# Short texts speak by their words ("read more", "comments", "cookies"), longer ones by their form.
_MAX_TEXT_WORDS = 14
_MAX_TEXT_CHARS = 5_000  # of a text with summed words
_LEAST_WORDS = 3  # words with the least scores, of which the mean is a feature
_CACHED = 1 << 13


class TokenScores(NamedTuple):
    """The least, greatest and mean score of an element's words; 0 without known words."""

    least: float = 0.0
    greatest: float = 0.0
    mean: float = 0.0


class TextScores(NamedTuple):
    """The scores of a text's known words: sum, number, least, greatest, mean of the three least; 0 without any."""

    total: float = 0.0
    known: float = 0.0
    least: float = 0.0
    greatest: float = 0.0
    few: float = 0.0


_NO_TOKEN_SCORES = TokenScores()
_NO_TEXT_SCORES = TextScores()


def element_words(tag: str, tokens: str) -> frozenset[str]:
    """Return the words of an element: its tag, the words of its tokens (`articleBody` has two), and pairs of them."""
    words = [word.lower() for word in _WORD.findall(tokens) if _MIN_WORD_CHARS <= len(word) <= _MAX_WORD_CHARS][
        :_MAX_ELEMENT_WORDS
    ]
    pairs = (f"{first}_{second}" for first, second in pairwise(words))
    return frozenset((f"<{tag}>", *words, *pairs))


def inline_words(tokens: str) -> frozenset[str]:
    """Return the words of the inline elements around a text; empty without tokens."""
    return frozenset(f"i:{word}" for word in element_words("", tokens)) if tokens else frozenset()


def text_words(text: str) -> frozenset[str]:
    """Return the words of a short text, all numbers as one word; empty for a long text."""
    if len(text) > _MAX_TEXT_WORDS * _MAX_WORD_CHARS:
        return frozenset()
    words = tokenise(text)
    if len(words) > _MAX_TEXT_WORDS:
        return frozenset()
    return frozenset("t:0" if word.isdigit() else f"t:{word}" for word in words)


def any_words(text: str) -> frozenset[str]:
    """Return the words of any text, all numbers as one word; of a very long text, those of its beginning."""
    return frozenset("w:0" if word.isdigit() else f"w:{word}" for word in tokenise(text[:_MAX_TEXT_CHARS]))


@dataclass(frozen=True, slots=True, eq=False)
class Lexicon:
    """The scores of words, with a bounded cache of recent look-ups."""

    scores: Mapping[str, float]
    of_element: Callable[[str, str], TokenScores] = field(init=False)
    of_inline: Callable[[str], TokenScores] = field(init=False)
    of_text: Callable[[str], TokenScores] = field(init=False)

    def __post_init__(self) -> None:
        for name, words_of in (("of_element", element_words), ("of_inline", inline_words), ("of_text", text_words)):
            object.__setattr__(self, name, lru_cache(_CACHED)(self._looking_up(words_of)))

    def elements(self, tags: list[str], tokens: list[str]) -> np.ndarray:
        """Return the least, greatest and mean word score of elements (3 x m, float64)."""
        known = _compiled_words(self)
        return _token_rows(map(self.of_element, tags, tokens)) if known is None else known.elements(tags, tokens)

    def inlines(self, tokens: list[str]) -> np.ndarray:
        """Return the same scores of the inline elements around texts (3 x n, float64)."""
        known = _compiled_words(self)
        return _token_rows(map(self.of_inline, tokens)) if known is None else known.inlines(tokens)

    def texts(self, texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
        """Return the same scores of short texts (3 x n), and the `TextScores` of all texts (5 x n), as float64."""
        known = _compiled_words(self)
        if known is not None:
            return known.texts(texts)
        return _token_rows(map(self.of_text, texts)), _columns(map(self.sum_of, texts), len(_NO_TEXT_SCORES))

    def sum_of(self, text: str) -> TextScores:
        """Return the scores of a text's words."""
        scores = _any_scores(self)
        words = set(tokenise(text[:_MAX_TEXT_CHARS]))
        if "0" in scores and any(map(str.isdigit, words)):
            words.add("0")
        ordered = sorted([score for score in map(scores.get, words) if score is not None])
        if not ordered:
            return _NO_TEXT_SCORES
        few = ordered[:_LEAST_WORDS]
        return TextScores(sum(ordered), len(ordered), ordered[0], ordered[-1], sum(few) / len(few))

    def _looking_up(self, words_of: Callable[..., Iterable[str]]) -> Callable[..., TokenScores]:
        return lambda *texts: self._score_words(words_of(*texts))

    def _score_words(self, words: Iterable[str]) -> TokenScores:
        scores = [self.scores[word] for word in words if word in self.scores]
        return TokenScores(min(scores), max(scores), sum(scores) / len(scores)) if scores else _NO_TOKEN_SCORES


@lru_cache(maxsize=8)  # a model has one
def _compiled_words(lexicon: Lexicon) -> ScoredWords | None:
    module = load_compiled("words")
    if module is None:
        return None
    words: ScoredWords = module.ScoredWords(lexicon.scores)
    return words


@lru_cache(maxsize=8)  # a model has one
def _any_scores(lexicon: Lexicon) -> dict[str, float]:
    """Return the scores of the words of `any_words`, by word. Of numbers, only 0 has one."""
    scores = {word[2:]: score for word, score in lexicon.scores.items() if word.startswith("w:")}
    return {word: score for word, score in scores.items() if word == "0" or not word.isdigit()}


def _token_rows(rows: Iterable[TokenScores]) -> np.ndarray:
    return _columns(rows, len(_NO_TOKEN_SCORES))


def _columns(rows: Iterable[TokenScores | TextScores], size: int) -> np.ndarray:
    return np.fromiter(chain.from_iterable(rows), np.float64).reshape(-1, size).T


def pack_scores(scores: Mapping[str, float] | Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the scores of words, each a number or a row of numbers, as two plain arrays."""
    words = sorted(scores)
    text = "\n".join(words).encode()
    return {"words": np.frombuffer(text, np.uint8), "scores": np.array([scores[word] for word in words], np.float16)}


def unpack_lexicon(arrays: Mapping[str, np.ndarray]) -> Lexicon:
    """Return the lexicon of two arrays made by `pack`."""
    return Lexicon({word: float(score) for word, score in unpack_scores(arrays).items()})


def unpack_scores(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the scores (float32) of two arrays made by `pack`."""
    words = arrays["words"].tobytes().decode().split("\n")
    return dict(zip(words, arrays["scores"].astype(np.float32), strict=True))
