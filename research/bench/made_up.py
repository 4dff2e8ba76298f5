"""Blocks as a crawl stores them, of words as frequent as those of a language, and what is searched in them.

All of it comes from fixed seeds: each run has the same.
"""

from __future__ import annotations

from functools import cache

import numpy as np

BLOCKS_OF_PAGE = 50
VOCABULARY = 200_000
_OFFSET, _EXPONENT = 2.7, 1.07  # Zipf and Mandelbrot's law, as it is for English
_MEDIAN_WORDS, _SPREAD = 25, 0.9
_LONGEST = 800
_CHINESE = 0.02  # share of the blocks
_HAN, _HAN_FIRST = 3_000, 0x4E00
_CONSONANTS, _VOWELS = "bcdfghjklmnprstvwz", "aeiou"
# Of PAB's table: h1, bold, link and paragraph, paragraph alone, and none.
_PRIORITIES, _SHARES = (1.0, 0.5, 0.3, 0.1, 0.0), (0.02, 0.05, 0.13, 0.6, 0.2)
STOP_WORDS = 100  # the most frequent of the vocabulary


@cache
def vocabulary():
    """Return made-up words, the most frequent first."""
    syllables = [consonant + vowel for vowel in _VOWELS for consonant in _CONSONANTS]
    words = []
    for number in range(VOCABULARY):
        rest, word = number + len(syllables), ""
        while rest:
            rest, last = divmod(rest, len(syllables))
            word = syllables[last] + word
        words.append(word)
    return words


def frequencies():
    """Return the cumulated shares of the vocabulary's words in a text."""
    return _cumulated(VOCABULARY)


def pages(count):
    """Give so many pages: each a list of (text, words, priority, score)."""
    random = np.random.default_rng(1)
    words = np.array(vocabulary(), object)
    shares = frequencies()
    han, han_shares = [chr(_HAN_FIRST + i) for i in range(_HAN)], _cumulated(_HAN)
    for _ in range(count):
        lengths = np.clip(random.lognormal(np.log(_MEDIAN_WORDS), _SPREAD, BLOCKS_OF_PAGE), 2, _LONGEST).astype(int)
        running = words[np.searchsorted(shares, random.random(lengths.sum()))]
        parts = np.split(running, lengths.cumsum()[:-1])
        texts = [f"{' '.join(part).capitalize()}." for part in parts]
        for number in np.flatnonzero(random.random(BLOCKS_OF_PAGE) < _CHINESE):
            drawn = np.searchsorted(han_shares, random.random(2 * lengths[number]))
            texts[number] = f"{''.join(han[i] for i in drawn)}\u3002"
        priorities = random.choice(_PRIORITIES, BLOCKS_OF_PAGE, p=_SHARES)
        yield list(
            zip(texts, lengths.tolist(), priorities.tolist(), random.random(BLOCKS_OF_PAGE).tolist(), strict=True)
        )


def queries(count):
    """Return so many queries of each kind, by its name."""
    random = np.random.default_rng(2)
    words = vocabulary()
    shares = frequencies()

    def running(length):
        """Words as frequent as in a text, without stop words."""
        drawn = np.searchsorted(shares, shares[STOP_WORDS] + random.random(length) * (1 - shares[STOP_WORDS]))
        return [words[i] for i in drawn]

    texts = [text for page in pages(count) for text, *_ in page[:1]]
    return {
        "a word of the vocabulary": [words[i] for i in random.integers(STOP_WORDS, VOCABULARY // 4, count)],
        "a word of running text": running(count),
        "two words": [" ".join(running(2)) for _ in range(count)],
        "one OR another, -a third": ["{} OR {} -{}".format(*running(3)) for _ in range(count)],
        '"a phrase"': [f'"{" ".join(text.rstrip(".").split()[:2])}"' for text in texts],
        "begin*": [f"{word[:-1]}*" for word in running(count)],
        "two Chinese characters": [
            chr(_HAN_FIRST + i) + chr(_HAN_FIRST + j) for i, j in random.integers(0, 300, (count, 2))
        ],
        "a word in 1 of 100": [words[i] for i in random.integers(130, 180, count)],
        "a stop word": [words[i] for i in random.integers(10, 30, max(1, count // 10))],
    }


def _cumulated(size):
    weights = 1 / (np.arange(1, size + 1) + _OFFSET) ** _EXPONENT
    return (weights / weights.sum()).cumsum()
