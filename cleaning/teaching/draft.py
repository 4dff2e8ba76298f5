"""A draft of a correction: today's decisions on a page, for a reader to mark."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Unpack

from cleaning.classifier.shipped import SHIPPED_MODEL_SHA256, load_shipped_model
from cleaning.classifier.signals import read_signals
from cleaning.clean import decide_page, text_page
from cleaning.leaf_table import read_leaf_table
from cleaning.metadata.statements import read_statements
from cleaning.methods import METHODS
from cleaning.options import CleaningOptions, Options
from cleaning.teaching.corrections import CorrectedBlock, CorrectedPage
from cleaning.teaching.signatures import read_signatures

if TYPE_CHECKING:
    from cleaning.blocks import Decision, Page
    from cleaning.teaching.site_model import SiteModel


@dataclass(frozen=True, slots=True)
class CorrectionDraft:
    """The decisions on the blocks of a page, and the same page to be corrected, without a mark yet."""

    decisions: tuple[Decision, ...] = field(repr=False)
    page: CorrectedPage


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
    page = text_page(page)
    stated = read_statements(page.root)
    table = read_leaf_table(page.root).head(checked_options.max_blocks)
    blocks: tuple[CorrectedBlock, ...] = ()
    decisions: tuple[Decision, ...] = ()
    if table.blocks:
        result = decide_page(page, stated, METHODS["default"], checked_options, site_model)
        decisions = tuple(result.decisions[: len(table.blocks)])
        scores = load_shipped_model().predict(table, read_signals(page, stated)).scores
        described = zip(read_signatures(table, scores), scores.tolist(), decisions, strict=True)
        blocks = tuple(
            CorrectedBlock(signature, decision.block.words, score, decision.kept)
            for signature, score, decision in described
        )
    return CorrectionDraft(decisions, CorrectedPage(page.url or "", reader, corrected_at, SHIPPED_MODEL_SHA256, blocks))
