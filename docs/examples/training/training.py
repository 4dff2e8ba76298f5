"""The pages of `scrapy batch` as a corpus for training: filtered, without near-duplicates and masked, by datatrove.

    scrapy batch archives/ --out cleaned/
    python docs/examples/training/training.py cleaned/ training/

needs `pip install phonenumbers tokenizers 'blocksieve[datatrove]'`. The rules are those of Gopher and C4 in the form
that datatrove gives them, and MinHash has its default of 14 bands of 8 hashes over 5 words. Words are what spaces
separate; for another language, take its tokenizers (`pip install 'datatrove[processing]'`) in the place of `Words`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import phonenumbers
from datatrove.executor import LocalPipelineExecutor
from datatrove.pipeline.dedup import (
    MinhashConfig,
    MinhashDedupBuckets,
    MinhashDedupCluster,
    MinhashDedupFilter,
    MinhashDedupSignature,
)
from datatrove.pipeline.filters import C4QualityFilter, GopherQualityFilter, GopherRepetitionFilter, LambdaFilter
from datatrove.pipeline.formatters import PIIFormatter
from datatrove.pipeline.formatters.base import BaseFormatter
from datatrove.pipeline.readers import JsonlReader, ParquetReader
from datatrove.pipeline.writers import JsonlWriter
from datatrove.utils.hashing import HashConfig
from datatrove.utils.word_tokenizers import WordTokenizer

if TYPE_CHECKING:
    from datatrove.data import Document

REGION = None  # the country of telephone numbers without a country code, such as "GB"
CARD = re.compile(r"(?<![\d.,-])[2-6](?:[ -]?[0-9]){12,18}(?![\d-])", re.ASCII)


class Words(WordTokenizer):
    """Words are what spaces separate, and a sentence ends with a mark before a space."""

    def word_tokenize(self, text: str) -> list[str]:
        return text.split()

    def sent_tokenize(self, text: str) -> list[str]:
        return [text[start:end] for start, end in self.span_tokenize(text)]

    def span_tokenize(self, text: str) -> list[tuple[int, int]]:
        ends = [match.end() for match in re.finditer(r"[.!?]+(?=\s|$)", text)]
        ends += [len(text)] if not ends or ends[-1] < len(text) else []
        return list(zip([0, *ends[:-1]], ends, strict=True))


class Numbers(BaseFormatter):
    """Masks what datatrove's PIIFormatter does not: numbers of payment cards and telephones."""

    name = "Numbers"

    def format(self, text: str) -> str:
        text = CARD.sub(lambda match: "<card>" if has_check_digit(match[0]) else match[0], text)
        for match in reversed(list(phonenumbers.PhoneNumberMatcher(text, REGION))):
            text = f"{text[: match.start]}<phone>{text[match.end :]}"
        return text


def has_check_digit(number: str) -> bool:
    """Return True if the last digit is that of Luhn's algorithm."""
    digits = [int(character) for character in number if character.isdigit()]
    doubled = sum(sum(divmod(2 * digit, 10)) for digit in digits[-2::-2])
    return (sum(digits[-1::-2]) + doubled) % 10 == 0


def is_original(document: Document) -> bool:
    """Return True for a page that repeats no other: the job has compared whole texts."""
    return document.metadata.get("duplicate_of") is None


def main(cleaned: Path, out: Path) -> None:
    """Write the pages that pass to `out/texts`, in JSON lines."""
    words, work = Words(), out / "work"
    # Its other hash, xxhash, takes texts, which xxhash 4 refuses.
    minhash = MinhashConfig(hash_config=HashConfig(hash_fc="sha1"))
    filtered = [
        ParquetReader(str(cleaned / "pages"), text_key="text", id_key="url"),
        LambdaFilter(is_original),
        GopherRepetitionFilter(language=words),
        GopherQualityFilter(language=words),
        C4QualityFilter(language=words, filter_no_terminal_punct=False),
        JsonlWriter(str(work / "filtered")),
        MinhashDedupSignature(str(work / "signatures"), minhash, language=words),
    ]
    buckets = [MinhashDedupBuckets(str(work / "signatures"), str(work / "buckets"), config=minhash)]
    clusters = [MinhashDedupCluster(str(work / "buckets"), str(work / "repeated"), config=minhash)]
    written = [
        JsonlReader(str(work / "filtered")),
        MinhashDedupFilter(str(work / "repeated")),
        PIIFormatter(email_replacement="<email>"),
        Numbers(),
        JsonlWriter(str(out / "texts")),
    ]
    stages = [(filtered, 1), (buckets, minhash.num_buckets), (clusters, 1), (written, 1)]
    for number, (steps, tasks) in enumerate(stages):
        LocalPipelineExecutor(steps, tasks=tasks, workers=1, logging_dir=str(work / f"log-{number}")).run()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
