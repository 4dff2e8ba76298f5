"""The terms of documents and how often each document has each: the table that all mining starts from."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from nltk.stem.snowball import SnowballStemmer
from scipy.sparse import csr_array

from cleaning.terms import is_unspaced, stop_words, tokenise
from crawler.errors import MiningError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from crawler.mining.documents import Document

_CHARS_MIN = 2
# NLTK's Snowball stemmers, by the language code of a page.
_STEMMERS = {
    "ar": "arabic",
    "da": "danish",
    "de": "german",
    "en": "english",
    "es": "spanish",
    "fi": "finnish",
    "fr": "french",
    "hu": "hungarian",
    "it": "italian",
    "nl": "dutch",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
}


@dataclass(frozen=True, slots=True)
class TermCounts:
    """The documents that have a term, and their terms: a row of `matrix` is a document, a column one of `terms`.

    A term is a stem; `words` has the most frequent word of each, which people read. `sequences` are the terms of each
    document in order, as numbers of columns.
    """

    documents: list[Document]
    terms: list[str]
    words: list[str]
    matrix: csr_array = field(repr=False)
    sequences: list[np.ndarray[Any, Any]] = field(repr=False)
    read: int = 0

    @property
    def without_terms(self) -> int:
        """The number of documents that were left out because they have none of the terms."""
        return self.read - len(self.documents)

    @property
    def presence(self) -> Any:
        """Which document has which term: a sparse matrix of truth values."""
        return self.matrix > 0


def count_terms(
    documents: Sequence[Document], *, min_documents: int = 2, max_share: float = 0.5, max_terms: int = 50_000
) -> TermCounts:
    """Count the terms of documents: words without stop words, stemmed in the document's language.

    Scripts without spaces give pairs of characters, numbers and single letters no terms. A term counts if at least
    `min_documents` and at most `max_share` of the documents have it, and only the `max_terms` most frequent ones do.
    Raises MiningError if no term is left, and without the extra `mining`.
    """
    if not documents:
        raise MiningError("there is no document to mine; crawl or import pages first, or widen --site and --language")
    surfaces: defaultdict[str, Counter[str]] = defaultdict(Counter)
    texts = [_terms(document, surfaces) for document in documents]
    frequencies = Counter(term for terms in texts for term in set(terms))
    limit = max(max_share * len(documents), min_documents)
    chosen = [(-count, term) for term, count in frequencies.items() if min_documents <= count <= limit]
    vocabulary = {term: number for number, (_, term) in enumerate(sorted(chosen)[:max_terms])}
    if not vocabulary:
        raise MiningError(
            f"the {len(documents):,} documents have no term in common that at most {max_share:.0%} of them have; "
            "mine more documents"
        )
    return _table(documents, texts, vocabulary, surfaces)


def _table(
    documents: Sequence[Document],
    texts: Sequence[Sequence[str]],
    vocabulary: dict[str, int],
    surfaces: dict[str, Counter[str]],
) -> TermCounts:
    kept: list[Document] = []
    sequences: list[np.ndarray[Any, Any]] = []
    counts: list[Counter[int]] = []
    for document, terms in zip(documents, texts, strict=True):
        numbers = [vocabulary[term] for term in terms if term in vocabulary]
        if numbers:
            kept.append(document)
            sequences.append(np.array(numbers, dtype=np.int32))
            counts.append(Counter(numbers))
    ends = np.cumsum([0, *map(len, counts)])
    columns = np.fromiter((number for count in counts for number in sorted(count)), np.int32)
    values = np.fromiter((count[number] for count in counts for number in sorted(count)), np.float64)
    matrix = csr_array((values, columns, ends), shape=(len(kept), len(vocabulary)))
    # Of equally frequent words the first in the alphabet, so that the result does not depend on the order of documents.
    words = [min(surfaces[term].items(), key=lambda item: (-item[1], item[0]))[0] for term in vocabulary]
    return TermCounts(kept, list(vocabulary), words, matrix, sequences, len(documents))


def _terms(document: Document, surfaces: dict[str, Counter[str]]) -> list[str]:
    stem = _stemmer(str(document.columns.get("language") or ""))
    stop = stop_words("any")
    terms = []
    for word in tokenise(document.text):
        if word in stop or word.isdigit() or (len(word) < _CHARS_MIN and not is_unspaced(word)):
            continue
        term = stem(word)
        surfaces[term][word] += 1
        terms.append(term)
    return terms


@cache
def _stemmer(language: str) -> Callable[[str], str]:
    """Return NLTK's stemmer of a language; one that changes nothing for a language without one."""
    name = _STEMMERS.get(language.partition("-")[0])
    if name is None:
        return str

    return cache(SnowballStemmer(name).stem)
