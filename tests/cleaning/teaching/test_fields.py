"""Corrected titles, authors and dates teach the other pages of the site where theirs stand."""

import json
from dataclasses import replace

import pytest

from cleaning import clean, parse
from cleaning.errors import AnnotationError
from cleaning.teaching import SiteModel
from cleaning.teaching.corrections import read_corrections, write_corrections
from cleaning.teaching.draft import draft_correction
from cleaning.teaching.fields import CorrectedField, correct_field, learn_field, split_names

LINE = "The council decided on Monday to repair the harbour wall before the winter storms begin. "
NAMES = ("Ann Lee", "Bo Ek", "Cora Roe", "Dan Hall", "Eva Lind", "Finn Moe")


def page_html(number):
    """A page that shows an author and a day, and states others in JSON-LD: those of the desk that published it."""
    stated = {"@type": "NewsArticle", "datePublished": f"2026-09-{number + 10}", "author": {"name": "Gus Desk"}}
    line = f'<p class="line">By <span class="writer">{NAMES[number]}</span>, <time>{number + 1} May 2026</time></p>'
    script = f"<script type='application/ld+json'>{json.dumps(stated)}</script>"
    return (
        f"<html><head><title>Wall {number}</title>{script}</head>"
        f"<body><main><h1>Wall {number} is repaired</h1>{line}<p>{LINE * 3}</p><p>{LINE * 2}</p></main></body></html>"
    )


def address(number):
    return f"https://courier.example/news/{number}"


def corrected(number, **fields):
    tree = parse(page_html(number), address(number))
    page = draft_correction(tree, "anna", "2026-05-01T10:00:00Z").page
    record = page.to_record()
    fixed = {name: correct_field(tree, name, answer) for name, answer in fields.items()}
    return read_corrections(json.dumps(record))[0].with_fields(fixed)


def test_a_corrected_day_teaches_its_source():
    model = SiteModel.learn([corrected(number, published=f"2026-09-{number + 10}") for number in (0, 1)])
    assert clean(page_html(4), address(4)).published == "2026-05-05"
    assert clean(page_html(4), address(4), site_model=model).published == "2026-09-14"


def test_corrected_authors_teach_their_source():
    model = SiteModel.learn([corrected(number, authors="Gus Desk") for number in (0, 1, 2)])
    assert clean(page_html(4), address(4)).author == NAMES[4]
    assert clean(page_html(4), address(4), site_model=model).author == "Gus Desk"


def test_a_page_that_the_model_does_not_fit_is_read_as_before():
    model = SiteModel.learn([corrected(number, published=f"2026-09-{number + 10}") for number in (0, 1)])
    redesigned = page_html(4).replace("<main>", "<div class=sheet><section>").replace("<p>", "<p class=copy>")
    page = clean(redesigned, address(4), site_model=model)
    assert (page.fits_site, page.published) == (False, "2026-05-05")


def test_no_answer_can_be_right():
    model = SiteModel.learn([corrected(number, authors="") for number in (0, 1, 2)])
    assert clean(page_html(4), address(4), site_model=model).author is None


def test_a_page_of_which_only_a_field_is_known_teaches_it():
    pages = [corrected(number, published=f"2026-09-{number + 10}") for number in (0, 1)]
    model = SiteModel.learn([replace(page, finished=False) for page in pages])
    assert (model.pages, dict(model.weights)) == (2, {})
    page = clean(page_html(4), address(4), site_model=model)
    assert (page.fits_site, page.published) == (True, "2026-09-14")
    nothing = [replace(page, finished=False, fields={}) for page in pages]
    assert SiteModel.learn(nothing).pages == 0


def test_a_correction_says_what_the_reader_wrote():
    pages = [corrected(0, published="2026-09-10", authors="", title="WALL 0 is repaired!")]
    (page,) = read_corrections(write_corrections(pages))
    assert {name: field.answer for name, field in page.fields.items()} == {
        "published": "2026-09-10",
        "authors": "",
        "title": "WALL 0 is repaired!",
    }


def test_files_and_models_keep_the_fields():
    pages = [
        corrected(number, published=f"2026-05-0{number + 1}", title=f"Wall {number} is repaired") for number in (0, 1)
    ]
    again = read_corrections(write_corrections(pages))
    model = SiteModel.learn(again)
    assert model.to_json() == SiteModel.learn(pages).to_json()
    assert SiteModel.from_json(model.to_json()).field_weights == model.field_weights
    assert set(model.fields) <= {"title", "published"}


@pytest.mark.parametrize(
    ("field", "answer", "sentence"),
    [
        ("section", "news", "the field 'section' cannot be corrected; title, authors, published can"),
        ("published", "1 May 2026", "is not an ISO date"),
        ("published", "2020-01-01", "the page states no published '2020-01-01'; it has '2026-09-10'"),
        ("authors", "Zoe Zed", "the page states no authors 'Zoe Zed'; it has "),
        ("title", "Another title", "the page states no title 'Another title'; it has "),
    ],
)
def test_an_answer_that_the_page_does_not_have_teaches_nothing(field, answer, sentence):
    with pytest.raises(AnnotationError) as error:
        correct_field(parse(page_html(0), address(0)), field, answer)
    assert sentence in str(error.value)


def test_a_broken_field_is_refused():
    record = corrected(0, published="2026-05-01").to_record()
    for change in ({"right": "2020-01-01"}, {"options": [["2026-05-01", [3]]]}):
        broken = record | {"fields": {"published": record["fields"]["published"] | change}}
        with pytest.raises(AnnotationError, match="the field 'published' is not one of a corrected page"):
            read_corrections(json.dumps(broken))


def test_nothing_is_learned_of_nothing():
    assert learn_field("published", []) == {}
    assert learn_field("published", [CorrectedField({None: {"none"}}, None)]) == {}
    assert split_names("Ann Lee; Bo Ek") == split_names("Bo Ek and Ann Lee")
