"""Corrections: a reader's marks on the blocks of a page, with all that a site's model learns from.

They hold signatures and digests, and no text: a file of them can be kept beside a project's code. Each line is a page
as JSON.
"""

from __future__ import annotations

import json
from collections import defaultdict, deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from cleaning.errors import AnnotationError
from cleaning.teaching.fields import FIELDS, CorrectedField
from cleaning.teaching.signatures import BlockSignature

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Self

_FORMAT = 1
_MAX_BLOCKS = 1_000_000


@dataclass(frozen=True, slots=True)
class CorrectedBlock:
    """A block of a corrected page: its trained score, the decision on it, and what the reader says.

    `mark` is True for "keep", False for "drop", and None for a block that the reader did not mark.
    """

    signature: BlockSignature
    words: int
    score: float
    kept: bool
    mark: bool | None = None

    @property
    def right(self) -> bool:
        """What should happen to the block: the reader's mark, or else the decision."""
        return self.kept if self.mark is None else self.mark


@dataclass(frozen=True, slots=True)
class CorrectedPage:
    """The marks of a reader on a page.

    On a page that the reader `finished`, the blocks without a mark are right as they are; on another page they say
    nothing. `fields` has the corrected ones of `cleaning.teaching.fields.FIELDS`. `corrected_at` is a time in ISO 8601.
    `model` is the SHA-256 of the trained model that gave the scores.
    """

    url: str
    reader: str
    corrected_at: str
    model: str
    blocks: tuple[CorrectedBlock, ...] = field(repr=False)
    finished: bool = True
    fields: Mapping[str, CorrectedField] = field(default_factory=dict, repr=False)

    @property
    def marks(self) -> int:
        """The number of blocks that the reader marked."""
        return sum(block.mark is not None for block in self.blocks)

    @property
    def marked(self) -> int:
        """The number of blocks whose decision the reader changed."""
        return sum(block.right != block.kept for block in self.blocks)

    @property
    def teaches(self) -> bool:
        """Whether the reader said anything: finished the page, marked a block or corrected a field."""
        return bool(self.blocks and (self.finished or self.marks)) or bool(self.fields)

    def with_fields(self, fields: Mapping[str, CorrectedField]) -> Self:
        """Return the page with more corrected fields."""
        return replace(self, fields={**self.fields, **fields})

    def to_record(self) -> dict[str, Any]:
        """Return the page as values for JSON; the signatures' elements are listed once."""
        elements = list(dict.fromkeys(block.signature.elements for block in self.blocks))
        numbers = {text: number for number, text in enumerate(elements)}
        rows = [
            [
                numbers[block.signature.elements],
                *block.signature[1:],
                block.words,
                round(block.score, 4),
                block.kept,
                block.mark,
            ]
            for block in self.blocks
        ]
        return {
            "format": _FORMAT,
            "url": self.url,
            "reader": self.reader,
            "corrected_at": self.corrected_at,
            "model": self.model,
            "finished": self.finished,
            "fields": {name: _record_of(corrected) for name, corrected in self.fields.items()},
            "elements": elements,
            "blocks": rows,
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Self:
        """Return the page of a record. Raises AnnotationError for one that `to_record` does not write."""
        try:
            if record["format"] != _FORMAT:
                raise AnnotationError(f"format {record['format']!r} is unknown; this version reads format {_FORMAT}")
            texts = [record[name] for name in ("url", "reader", "corrected_at", "model")]
            if not all(isinstance(text, str) for text in texts) or not isinstance(record["finished"], bool):
                raise AnnotationError("url, reader, corrected_at and model are texts, finished is true or false")
            fields = {name: _read_field(name, fixed) for name, fixed in record["fields"].items()}
            blocks = tuple(_read_block(row, record["elements"]) for row in record["blocks"][:_MAX_BLOCKS])
        except (KeyError, TypeError, IndexError, ValueError, AttributeError) as error:
            if isinstance(error, AnnotationError):
                raise
            raise AnnotationError(f"it is not the record of a corrected page: {error!r}") from error
        url, reader, corrected_at, model = texts
        return cls(url, reader, corrected_at, model, blocks, record["finished"], fields)


def correct(page: CorrectedPage, marks: Mapping[int, bool | None]) -> CorrectedPage:
    """Return the page with marks on some blocks, by their positions; None takes a mark back.

    Raises AnnotationError for a position that the page does not have.
    """
    wrong = [position for position in marks if not 0 <= position < len(page.blocks)]
    if wrong:
        raise AnnotationError(f"there is no block {wrong[0]}; the page has blocks 0 to {len(page.blocks) - 1}")
    blocks = tuple(
        replace(block, mark=marks[position]) if position in marks else block
        for position, block in enumerate(page.blocks)
    )
    return replace(page, blocks=blocks)


def recall_marks(page: CorrectedPage, earlier: CorrectedPage) -> CorrectedPage:
    """Return the page with the marks and fields of an earlier correction of it, on the texts that it still has."""
    matching = match_blocks([block.signature.text for block in page.blocks], earlier)
    recalled = {position: block.mark for position, block in enumerate(matching) if block is not None}
    return replace(correct(page, recalled), fields={**earlier.fields, **page.fields})


def match_blocks(digests: Iterable[str], page: CorrectedPage) -> list[CorrectedBlock | None]:
    """Return for each digest of a text the block of the page that has it; None without one.

    Of several equal texts, the first one has the first block.
    """
    blocks: dict[str, deque[CorrectedBlock]] = defaultdict(deque)
    for block in page.blocks:
        blocks[block.signature.text].append(block)
    return [blocks[digest].popleft() if blocks[digest] else None for digest in digests]


def write_corrections(pages: Iterable[CorrectedPage]) -> str:
    """Return the text of a file: a line of JSON for each page."""
    return "".join(f"{json.dumps(page.to_record(), ensure_ascii=False)}\n" for page in pages)


def read_corrections(text: str) -> list[CorrectedPage]:
    """Return the pages of a file. Raises AnnotationError, which names the line, for one that is not a page."""
    pages = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
            if not isinstance(record, dict):
                raise AnnotationError("it is not a JSON object")
            pages.append(CorrectedPage.from_record(record))
        except ValueError as error:
            raise AnnotationError(f"line {number}: {error}") from error
    return pages


def _record_of(corrected: CorrectedField) -> dict[str, Any]:
    options = [[key, sorted(names)] for key, names in corrected.options.items()]
    return {"right": corrected.right, "answer": corrected.answer, "options": options}


def _read_field(name: str, record: Mapping[str, Any]) -> CorrectedField:
    options = {key: frozenset(names) for key, names in record["options"]}
    texts = [text for names in options.values() for text in names] + [key for key in options if key is not None]
    texts.append(record["answer"])
    if name not in FIELDS or record["right"] not in options or not all(isinstance(text, str) for text in texts):
        raise AnnotationError(f"the field {name!r} is not one of a corrected page")
    return CorrectedField(options, record["right"], record["answer"])


def _read_block(row: Sequence[Any], elements: Sequence[str]) -> CorrectedBlock:
    number, shape, place, text, words, score, kept, mark = row
    signature = BlockSignature(elements[number], shape, place, text)
    if not all(isinstance(part, str) for part in signature) or not isinstance(kept, bool):
        raise AnnotationError(f"the block {row!r:.100} is not one of a corrected page")
    if mark is not None and not isinstance(mark, bool):
        raise AnnotationError(f"the mark of a block is {mark!r}; it is true, false or null")
    if not 0 <= float(score) <= 1 or int(words) < 0:
        raise AnnotationError(f"a block has the score {score!r} and {words!r} words; the score is 0 to 1")
    return CorrectedBlock(signature, int(words), float(score), kept, mark)
