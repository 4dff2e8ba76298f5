"""Text to terms: normalise, tokenise, remove stop words, stem."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from itertools import accumulate
from sys import maxsize
from typing import TYPE_CHECKING

from cleaning._native import load_compiled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Self

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
# Each ASCII character that is not part of a word becomes a space.
_ASCII_SPACES = bytes(code if chr(code).isalnum() or chr(code) == "_" else 32 for code in range(128)) + bytes(128)
_FIRST_ACCENT, _LAST_ACCENT = 0x300, 0x1FFFF
_MAX_ACCENTS = 30
_LONG_STRETCH = 500  # in a shorter one, accents are sorted in a fifth of a millisecond
# Marks that readers may leave out, by script. In all other scripts (Indic, Thai, kana, ...) marks are letters.
_ACCENTS = "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
_HEBREW_POINTS = "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"
_ARABIC_VOWELS = (
    "\u0610-\u061a\u0640\u064b-\u0652\u0656-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed"
)
# Soft hyphens, zero-width characters, marks of direction, variation selectors.
_INVISIBLE = (
    "\u00ad\u034f\u061c\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufe00-\ufe0f"
    "\ufeff\U000e0100-\U000e01ef"
)
# In Cyrillic a mark makes another letter, except for stress marks and the dots of \u0451.
# The class comes first: what begins with one is found ten times as fast. The other conditions look back at the match.
_NO_LETTERS = f"{_INVISIBLE}{_HEBREW_POINTS}{_ARABIC_VOWELS}"
_LEFT_OUT = re.compile(
    f"[{_NO_LETTERS}{_ACCENTS}](?:(?<=[{_NO_LETTERS}])|(?<![\u0400-\u052f].)(?<=[{_ACCENTS}])"
    "|(?<![\u0413\u041a\u0433\u043a].)(?<=[\u0300\u0301])|(?<=[\u0415\u0435]\u0308))",
    re.DOTALL,
)
# Letters that Unicode does not decompose, and apostrophes.
_PLAIN_LETTERS = {
    "\u0131": "i",
    "\u0111": "d",
    "\u00f8": "o",
    "\u0142": "l",
    "\u0127": "h",
    "\u0167": "t",
    "\u00e6": "ae",
    "\u0153": "oe",
    "\u2019": "'",
    "\u02bc": "'",
}
_OTHER_LETTER = re.compile(f"[{''.join(_PLAIN_LETTERS)}]")
# Vowels and final consonants of Hangul that join the letter before them.
_JOINING_JAMO = re.compile("[\u1160-\u11ff]")
_MARK = re.compile("[,.;:!?\u3002\uff0c\u3001\uff1b\uff1a\uff01\uff1f]")
# NUL, the other control characters and lone surrogates, which databases and terminals reject.
_UNWANTED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")

# Characters that `visible` may remove. `cleaning/_native/words.pxd` knows them too.
MAYBE_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ue000-\uf8ff\ufeff\ufff9-\ufffc"
    "\U000e0000-\U000e007f\U000f0000-\U0010ffff]"
)
_RIGHT_TO_LEFT = "\u0590-\u061b\u061d-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff"
# Scripts whose letters join, or whose marks are ordered: from Hebrew to Myanmar, Khmer to Mongolian, Brahmic ones.
_JOINED = f"{_RIGHT_TO_LEFT}\u0900-\u109f\u1780-\u18af\u1900-\u1cff\ua800-\ua95f\ua980-\uabff\U00011000-\U00011fff"
_BETWEEN_WORDS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1950-\u1aaf"  # Thai to Tai Tham, without spaces
_EMOJI = "\u2190-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff"
_JOINERS = "\u034f\u200c\u200d"
_DIRECTIONS = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
_TAGS = "\U000e0000-\U000e007f"  # they spell the region of a flag behind a black flag, and nothing elsewhere
# Soft hyphens, word joiners, signs of formulas, byte order marks, anchors of objects.
_NEVER_SHOWN = "\u00ad\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffc"
# It begins with the characters themselves, so that the search passes over all others; what stands before them follows.
_ERASED = re.compile(
    f"[{_NEVER_SHOWN}\u200b{_JOINERS}](?:(?<=[{_NEVER_SHOWN}])"
    f"|(?<=\u200b)(?:(?![{_BETWEEN_WORDS}])|(?<![{_BETWEEN_WORDS}].))"
    f"|(?<=[{_JOINERS}])(?:(?=[{_JOINERS}])"
    f"|(?<![{_JOINED}].)(?!(?<=[{_EMOJI}\ufe0f]\u200d)[{_EMOJI}])(?![{_JOINED}]))"
    "|(?<=\u200c)(?=\\s|\\Z)|(?<=\\s\u200c)|(?<=\\A\u200c))",
    re.DOTALL,
)
_TAG = re.compile(f"[{_TAGS}]")
_FLAG_OR_TAGS = re.compile(f"\U0001f3f4?[{_TAGS}]+")
_ICONS = re.compile("[\ue000-\uf8ff\U000f0000-\U0010ffff]+")
_DIRECTION = re.compile(f"[{_DIRECTIONS}]")
_RIGHT_TO_LEFT_LETTER = re.compile(f"[{_RIGHT_TO_LEFT}]")
_IDEOGRAPHS = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]{2}")


def visible(text: str) -> str:
    """Return the text without the characters that show nothing, such as soft hyphens and the signs of icon fonts.

    What a script needs stays: joiners in Persian, Indic scripts and emoji, spaces without width between the words of
    Thai or Khmer, marks of direction in a text with Hebrew or Arabic letters, rare Chinese characters of a private use.
    """
    return text if text.isascii() or MAYBE_INVISIBLE.search(text) is None else visible_parts([text])[0]


def visible_parts(parts: Sequence[str]) -> list[str]:
    """Return the parts of a text as `visible` leaves them in the whole text; a part may become empty.

    A private character stands for an icon if it begins or ends its part: icons have elements of their own.
    """
    whole = "".join(parts)
    edges = set(accumulate(map(len, parts), initial=0))

    def without_icons(match: re.Match[str]) -> str:
        start, end = match.span()
        around = whole[max(start - 1, 0) : start] + whole[end : end + 1]
        if _IDEOGRAPHS.fullmatch(around) and start not in edges and end not in edges:
            return match[0]
        # An icon keeps the words at its sides apart.
        is_between_words = len(around) > 1 and around.isalnum()
        return (" " if is_between_words else "\0") + "\0" * (end - start - 1)

    text = _ERASED.sub("\0", whole)
    if _TAG.search(text):
        text = _FLAG_OR_TAGS.sub(lambda run: run[0] if run[0][0] == "\U0001f3f4" else "\0" * len(run[0]), text)
    text = _ICONS.sub(without_icons, text)
    if _DIRECTION.search(text) and _RIGHT_TO_LEFT_LETTER.search(text) is None:
        text = _DIRECTION.sub("\0", text)
    ends = list(accumulate(map(len, parts)))
    return [text[end - len(part) : end].replace("\0", "") for part, end in zip(parts, ends, strict=True)]


def bare(text: str) -> str:
    """Return a text without white space and all that `visible` may remove: it is the same before and after."""
    return "".join(MAYBE_INVISIBLE.sub("", text).split())


def normalise(text: str) -> str:
    """Return the text on one line, as it is visible: single spaces, no control characters or lone surrogates."""
    if not text.isascii():
        return on_one_line(visible(text))
    return " ".join(text.split()) if text.isprintable() else on_one_line(text)


def on_one_line(text: str) -> str:
    """Return what `normalise` makes of a text without invisible characters."""
    plain = text if text.isprintable() else text.replace("\n", " ").replace("\t", " ").replace("\r", " ")
    if plain.isprintable():  # what is unwanted is not printable, and no white space but the space is
        return " ".join(plain.split())
    return " ".join(_UNWANTED.sub("", text).split())


def tidy_code(text: str) -> str:
    """Return a code text with its lines and indentation, without blank lines at its ends and what shows nothing."""
    lines = _UNWANTED.sub("", visible(text)).replace("\r\n", "\n").replace("\r", "\n").split("\n")
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


def count_tokens(text: str, most: int = maxsize) -> int:
    """Return the number of words that `tokenise` returns, `most` at most."""
    module = load_compiled("words")
    if module is None:
        return min(len(tokenise(text)), most)
    count: int = module.count_tokens(text, most)
    return count


def index_tokens(text: str) -> list[str]:
    """Return the words of a text for the search index, folded and in order, with stop words and without stemming.

    Apostrophes separate words. A run of a script without spaces becomes its character bigrams followed by its last
    character, so that a query finds any part of it: two or more characters as a sequence of bigrams, one character as
    the beginning of a word.
    """
    if text.isascii():
        words = _split_ascii(text.lower())
        is_long = len(text) > _MAX_PART and max(map(len, words), default=0) > _MAX_PART
        return _ASCII_PART.findall(text.lower()) if is_long else words
    folded = fold_for_search(text)
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
class Phrase:
    """Consecutive words of a search, often a single one. If `begins` is True, the last one is a prefix."""

    words: tuple[str, ...]
    begins: bool = False

    @classmethod
    def read(cls, text: str, *, begins: bool = False) -> Self | None:
        """Return the words of a text as they are indexed, None if it has no words."""
        words = index_tokens(text)
        if not words:
            return None
        last = words[-1]
        if is_unspaced(last):
            # `cut` ends a run of characters with its last character alone. In a stored text the run may continue.
            if len(words) > 1 and len(words[-2]) > 1 and is_unspaced(words[-2]):
                words.pop()
            else:
                begins = True
        return cls(tuple(words), begins)

    @property
    def pattern(self) -> str:
        """The string that a text's joined words contain if the block contains the phrase."""
        whole = join_tokens(self.words)
        return whole.rstrip(" ") if self.begins else whole


@dataclass(frozen=True, slots=True)
class TokenSpan:
    """A word of `index_tokens` and its place in the text: from `start` up to `end`."""

    word: str
    start: int
    end: int


def token_spans(text: str) -> Iterator[TokenSpan]:
    """Yield the words of `index_tokens`, each with its place in the text."""
    folded = _fold_with_places(text)
    for match in _PART.finditer(folded.text):
        first, end = match.span()
        if is_unspaced(match.group()):
            for start in range(first, end):
                last = min(start + 2, end)
                yield TokenSpan(folded.text[start:last], folded.starts[start], folded.ends[last - 1])
        else:
            yield TokenSpan(match.group(), folded.starts[first], folded.ends[end - 1])


@dataclass(frozen=True, slots=True)
class _FoldedText:
    """A folded text, with the start and the end in the original of each of its characters."""

    text: str
    starts: list[int]
    ends: list[int]


def _fold_with_places(text: str) -> _FoldedText:
    """Fold a text as `fold_for_search` does, a cluster at a time: a character with all that may join it."""
    parts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for start, end in _clusters(text):
        part = fold_for_search(text[start:end])
        parts.append(part)
        starts += [start] * len(part)
        ends += [end] * len(part)
    return _FoldedText("".join(parts), starts, ends)


def _clusters(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for place in range(1, len(text)):
        if not _joins(text[place]):
            yield start, place
            start = place
    if text:
        yield start, len(text)


def _joins(character: str) -> bool:
    """Return True if a character may become one with the character before it."""
    if character.isascii():
        return False
    first = unicodedata.normalize("NFKD", character)[0]
    return unicodedata.category(first) in {"Mn", "Mc", "Me", "Cf"} or _JOINING_JAMO.match(first) is not None


def join_tokens(words: Sequence[str]) -> str:
    """Return the words with a space before and after each, so that a word, or a sequence of them, can be counted."""
    return f" {'  '.join(words)} " if words else ""


def is_unspaced(word: str) -> bool:
    """Return True if a word begins with a character of a script without spaces."""
    return _UNSPACED_START.match(word) is not None


def fold(text: str) -> str:
    """Return the visible text without differences of case, width and apostrophe, which do not make another word.

    Of more than 30 accents in a row, in a long stretch without white space, only the first 30 are read.
    """
    return unicodedata.normalize("NFKC", _with_few_accents(visible(text))).casefold().replace("\u2019", "'")


def fold_for_search(text: str) -> str:
    """Return the text without what a reader may leave out when typing it: for the index and for queries alike.

    No difference: case and width, accents of Latin and Greek letters, the dots of the Turkish i, stroked letters,
    stress marks and the dots of \u0451 in Cyrillic, Hebrew points, Arabic vowel marks, soft hyphens and other invisible
    characters. Marks of all other scripts are letters, and stay. A change of this function needs a revision of the
    schema that writes all stored words anew.
    """
    if text.isascii():
        return text.lower()
    plain = _LEFT_OUT.sub("", unicodedata.normalize("NFKD", _with_few_accents(text)))
    return _OTHER_LETTER.sub(_plain_letter, unicodedata.normalize("NFC", plain.casefold()))


def _plain_letter(match: re.Match[str]) -> str:
    return _PLAIN_LETTERS[match[0]]


def _with_few_accents(text: str) -> str:
    if len(text) > _LONG_STRETCH and max(map(len, text.split()), default=0) > _LONG_STRETCH:
        return _accents_in_a_row().sub(r"\1", text)
    return text


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
