"""Text to terms: normalise, tokenise, remove stop words, stem."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from typing import TYPE_CHECKING

from cleaning._native import load_compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Scripts without spaces between words: Thai to Myanmar, Khmer, kana, Han with its extensions.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
# Vowel signs and accents that are separate characters belong to the word: \w alone cuts Hindi and pointed Arabic.
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u0900-\u0963\u0966-\u0dff\u200c\u200d"
)
_LETTER = rf"(?:(?![{UNSPACED}])[\w{_MARKS}])"
_WORD = re.compile(rf"[{UNSPACED}]+|{_LETTER}+(?:'{_LETTER}+)?")
# Indexes limit the length of a word; a longer word becomes several in sequence.
_MAX_PART = 100
_PART = re.compile(rf"[{UNSPACED}]+|{_LETTER}{{1,{_MAX_PART}}}")
_ASCII_PART = re.compile(rf"\w{{1,{_MAX_PART}}}")
_ASCII_WORD = re.compile(r"\w+(?:'\w+)?")
_UNSPACED_START = re.compile(f"[{UNSPACED}]")
# The same words in a text without characters of such scripts; a class alone is found four times as fast.
_SPACED_WORD = re.compile(rf"[\w{_MARKS}]+(?:'[\w{_MARKS}]+)?")
_SPACED_PART = re.compile(rf"[\w{_MARKS}]{{1,{_MAX_PART}}}")
# Each ASCII character that is no part of a word becomes a space.
_ASCII_SPACES = bytes(code if chr(code).isalnum() or chr(code) == "_" else 32 for code in range(128)) + bytes(128)
_FIRST_ACCENT, _LAST_ACCENT = 0x300, 0x1FFFF
_MAX_ACCENTS = 30
_LONG_STRETCH = 500  # in a shorter one, accents are sorted in a fifth of a millisecond
_MARK = re.compile("[,.;:!?\u3002\uff0c\u3001\uff1b\uff1a\uff01\uff1f]")
# NUL, the other control characters and lone surrogates, which databases and terminals reject.
_UNWANTED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


def normalise(text: str) -> str:
    """Return the text on one line, with single spaces and without control characters or lone surrogates."""
    plain = text if text.isprintable() else text.replace("\n", " ").replace("\t", " ").replace("\r", " ")
    if plain.isprintable():  # what is unwanted is not printable, and no white space but the space is
        return " ".join(plain.split())
    return " ".join(_UNWANTED.sub("", text).split())


def tidy_code(text: str) -> str:
    """Return a code text with its lines and indentation, without blank lines at its ends and control characters."""
    lines = _UNWANTED.sub("", text).replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(line.rstrip() for line in lines).strip("\n")


def tokenise(text: str) -> list[str]:
    """Return the words, case-folded; a run of a script without spaces becomes its character bigrams.

    Bigrams change less after an edit than the output of a word segmenter, and need no dictionary.
    """
    if text.isascii():
        return _ascii_words(text.lower())
    folded = fold(text)
    if _UNSPACED_START.search(folded) is None:
        return _SPACED_WORD.findall(folded)
    tokens: list[str] = []
    for word in _WORD.findall(folded):
        if _UNSPACED_START.match(word):
            tokens.extend(word[i : i + 2] for i in range(max(1, len(word) - 1)))
        else:
            tokens.append(word)
    return tokens


def index_tokens(text: str) -> list[str]:
    """Return the words of a text for the search index, case-folded and in order, with stop words and without stemming.

    Apostrophes separate words. A run of a script without spaces becomes its character bigrams followed by its last
    character, so that a query finds any part of it: two or more characters as a sequence of bigrams, one character as
    the beginning of a word.
    """
    if text.isascii():
        words = _split_ascii(text.lower())
        is_long = len(text) > _MAX_PART and max(map(len, words), default=0) > _MAX_PART
        return _ASCII_PART.findall(text.lower()) if is_long else words
    folded = fold(text)
    if _UNSPACED_START.search(folded) is None:
        return _SPACED_PART.findall(folded)
    words = []
    for part in _PART.findall(folded):
        if is_unspaced(part):
            words.extend(part[i : i + 2] for i in range(len(part)))
        else:
            words.append(part)
    return words


@dataclass(frozen=True, slots=True)
class TokenSpan:
    """A word of `index_tokens` and its place in the text: from `start` up to `end`."""

    word: str
    start: int
    end: int


def token_spans(text: str) -> Iterator[TokenSpan]:
    """Yield the words of `index_tokens`, each with its place in the text."""
    for match in _PART.finditer(text):
        start, end = match.span()
        words = index_tokens(match.group())
        if is_unspaced(match.group()) and len(words) == end - start:
            yield from (TokenSpan(word, start + i, start + i + len(word)) for i, word in enumerate(words))
        else:
            yield from (TokenSpan(word, start, end) for word in words)


def is_unspaced(word: str) -> bool:
    """Return True if a word begins with a character of a script without spaces."""
    return _UNSPACED_START.match(word) is not None


def fold(text: str) -> str:
    """Return the text without differences of case, width and apostrophe, which do not make another word.

    Of more than 30 accents in a row, in a long stretch without white space, only the first 30 are read.
    """
    if len(text) > _LONG_STRETCH and max(map(len, text.split()), default=0) > _LONG_STRETCH:
        text = _accents_in_a_row().sub(r"\1", text)
    return unicodedata.normalize("NFKC", text).casefold().replace("\u2019", "'")


@cache
def _accents_in_a_row() -> re.Pattern[str]:
    """Return the pattern of too many characters that join the one before.

    Normalising them takes quadratic time. Unicode's Stream-Safe Text Format (UAX 15, section 13) has the same limit.
    """
    accents = "".join(filter(unicodedata.combining, map(chr, range(_FIRST_ACCENT, _LAST_ACCENT + 1))))
    return re.compile(f"([{accents}]{{{_MAX_ACCENTS}}})[{accents}]+")


def count_words(text: str) -> int:
    """Return the number of words for a reader; two characters of a script without spaces count as a word."""
    if text.isascii():
        return len(_ascii_words(text))
    if _UNSPACED_START.search(text) is None:
        return len(_SPACED_WORD.findall(text))
    count = 0
    for word in _WORD.findall(text):
        count += (len(word) + 1) // 2 if _UNSPACED_START.match(word) else 1
    return count


def _ascii_words(text: str) -> list[str]:
    return _ASCII_WORD.findall(text) if "'" in text else _split_ascii(text)


def _split_ascii(text: str) -> list[str]:
    """Return the runs of letters, digits and `_` of an ASCII text."""
    return text.encode("ascii").translate(_ASCII_SPACES).decode("ascii").split()


def count_marks(text: str) -> int:
    """Return the number of punctuation marks, including Chinese and Japanese ones.

    The separators of menus (`|`, `»`, `-`) do not count.
    """
    return len(_MARK.findall(text))


def terms(text: str) -> list[str]:
    """Return the terms in order: the Porter stems of the words that are not English stop words.

    Every language gets the same stop list and stemmer: a fingerprint must not depend on a guessed language, and neither
    changes words of other scripts. Empty for a text without words.
    """
    return _reader()(text)


@cache
def _reader() -> Callable[[str], list[str]]:
    module = load_compiled("words")
    return pure_terms if module is None else module.TermReader(stop_words()).terms


def pure_terms(text: str) -> list[str]:
    """Return the terms without the compiled core. It defines them."""
    stop = stop_words()
    return [_stem(token) for token in tokenise(text) if token not in stop]


@cache
def stop_words(language: str = "english") -> frozenset[str]:
    """Return the stop words of a language, by its English name."""
    name = f"stopwords-{language}.txt"
    return frozenset(resources.files("cleaning").joinpath("data", name).read_text("utf-8").split())


@lru_cache(maxsize=1 << 16)
def _stem(token: str) -> str:
    return _stemmer()(token) if token.isascii() else token


@cache
def _stemmer() -> Callable[[str], str]:
    # Imported at the first use: nltk takes a second. The mode is fixed: NLTK's default differs from Porter (1980).
    from nltk.stem.porter import PorterStemmer  # noqa: PLC0415 — see above

    stem: Callable[[str], str] = PorterStemmer(mode=PorterStemmer.ORIGINAL_ALGORITHM).stem
    return stem
