"""A draft of a correction: today's decisions on a page, for a reader to mark."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Unpack

from cleaning.classifier.shipped import SHIPPED_MODEL_SHA256, load_shipped_model
from cleaning.classifier.signals import read_signals
from cleaning.clean import clean, text_page
from cleaning.leaf_table import read_leaf_table
from cleaning.metadata.statements import read_statements
from cleaning.options import CleaningOptions, Options
from cleaning.teaching.corrections import CorrectedBlock, CorrectedPage
from cleaning.teaching.fields import correct_field
from cleaning.teaching.signatures import read_signatures

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cleaning.blocks import Decision, Page
    from cleaning.teaching.fields import CorrectedField
    from cleaning.teaching.site_model import SiteModel


@dataclass(frozen=True, slots=True)
class CorrectionDraft:
    """The decisions on the blocks of a page, and the same page to be corrected.

    `tree` is the page as it was parsed. `stated` has its title, authors and day as they are read today, empty for none.
    """

    decisions: tuple[Decision, ...] = field(repr=False)
    page: CorrectedPage
    tree: Page = field(repr=False)
    stated: Mapping[str, str]

    @property
    def answers(self) -> dict[str, str]:
        """The title, the authors and the day, as read today or as corrected."""
        return {**self.stated, **{name: corrected.answer for name, corrected in self.page.fields.items()}}

    def correct_fields(self, answers: Mapping[str, str]) -> dict[str, CorrectedField]:
        """Return the corrections of some fields, by `correct_field`, which raises AnnotationError."""
        return {name: correct_field(self.tree, name, answer) for name, answer in answers.items()}


def draft_correction(
    page: Page,
    reader: str,
    corrected_at: str,
    site_model: SiteModel | None = None,
    **options: Unpack[CleaningOptions],
) -> CorrectionDraft:
    """Return the draft for a page with an address, as the method `default` decides it with the model of its site.

    A page without text has no blocks. Raises OptionError as `clean` does.

    >>> from cleaning import parse
    >>> html = "<p>The ferry sails again from Monday.</p><p class=promo>Win a weekend on the island today.</p>"
    >>> draft = draft_correction(parse(html, "https://news.example/1"), "anna", "2026-05-01T10:00:00Z")
    >>> [(block.signature.elements, block.kept) for block in draft.page.blocks]
    [('p', True), ('p.promo', True)]
    """
    checked_options = Options.read(options)
    cleaned = clean(page, site_model=site_model, **options)
    readable = text_page(page)
    table = read_leaf_table(readable.root).head(checked_options.max_blocks)
    decisions = cleaned.decisions[: len(table.blocks)]
    blocks: tuple[CorrectedBlock, ...] = ()
    if table.blocks:
        scores = load_shipped_model().predict(table, read_signals(readable, read_statements(readable.root))).scores
        described = zip(read_signatures(table, scores), scores.tolist(), decisions, strict=True)
        blocks = tuple(
            CorrectedBlock(signature, decision.block.words, score, decision.kept)
            for signature, score, decision in described
        )
    stated = {
        "title": cleaned.title or "",
        "authors": cleaned.author or "",
        "published": cleaned.published or "",
    }
    corrected = CorrectedPage(readable.url or "", reader, corrected_at, SHIPPED_MODEL_SHA256, blocks)
    return CorrectionDraft(decisions, corrected, page, stated)
