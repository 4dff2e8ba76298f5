"""Drafts: what a reader is shown, and what a mark stands on."""

import taught_site

from cleaning import clean, parse
from cleaning.classifier.shipped import SHIPPED_MODEL_SHA256
from cleaning.teaching.draft import draft_correction


def test_a_draft_has_the_decisions_of_the_page():
    drafted = taught_site.draft(1)
    cleaned = clean(taught_site.page_html(1), taught_site.address(1))
    assert drafted.decisions == cleaned.decisions
    assert [block.kept for block in drafted.page.blocks] == [decision.kept for decision in cleaned.decisions]
    assert [block.score for block in drafted.page.blocks] == [decision.score for decision in cleaned.decisions]
    assert (drafted.page.url, drafted.page.model) == (taught_site.address(1), SHIPPED_MODEL_SHA256)


def test_a_draft_of_a_taught_site_shows_what_was_taught_beside_the_trained_scores():
    model = taught_site.site_model(1, 2)
    plain = taught_site.draft(7)
    drafted = taught_site.draft(7, model)
    (position,) = taught_site.positions(drafted, taught_site.offer(7))
    assert not drafted.page.blocks[position].kept
    assert drafted.page.blocks[position].score == plain.page.blocks[position].score
    assert drafted.decisions[position].score < plain.decisions[position].score


def test_pages_without_text_and_long_pages():
    assert draft_correction(parse(""), "anna", taught_site.TIME).page.blocks == ()
    many = parse("".join(f"<p>Paragraph {number} of a long page.</p>" for number in range(150)))
    drafted = draft_correction(many, "anna", taught_site.TIME, max_blocks=100)
    assert (len(drafted.page.blocks), len(drafted.decisions)) == (100, 100)


def test_text_that_a_script_would_show_can_be_corrected():
    line = "The ferry of the northern lake sails again from Monday, the harbour office said on Friday. "
    body = f"<html><body><div id=app></div><noscript><article><p>{line * 3}</p></article></noscript></body></html>"
    drafted = draft_correction(parse(body, "https://lake.example/1"), "anna", taught_site.TIME)
    assert [block.kept for block in drafted.page.blocks] == [True]
