"""A model of a site: what it learns, where it holds, and where it steps back."""

import json
import random

import numpy as np
import pytest
import taught_site

from cleaning import OptionError, Reason, clean
from cleaning.errors import AnnotationError
from cleaning.teaching import CorrectedPage, SiteModel, correct, load_site_model
from cleaning.teaching.site_model import read_site_models, write_site_models


def cleaned(number, model=None, **how):
    return clean(taught_site.page_html(number, **how), taught_site.address(number), site_model=model)


@pytest.mark.parametrize("corrected", [(1,), (1, 2), (1, 2, 3, 4, 5)])
def test_other_pages_of_the_site_are_right(corrected):
    model = taught_site.site_model(*corrected)
    for number in range(7, 12):
        offer = taught_site.offer(number)
        plain = cleaned(number)
        taught = cleaned(number, model)
        assert offer in plain.text
        assert offer not in taught.text
        assert taught.text == plain.text.replace(f"{offer}\n", "")
        (position,) = taught.taught
        assert taught.decisions[position].block.text == offer
        assert taught.decisions[position].reason is Reason.TAUGHT
        assert (plain.fits_site, plain.taught, taught.fits_site) == (None, frozenset(), True)


def test_a_block_that_was_dropped_is_kept():
    words = "All rights belong"
    pages = []
    for number in (1, 2):
        drafted = taught_site.draft(number)
        pages.append(correct(drafted.page, dict.fromkeys(taught_site.positions(drafted, words), True)))
    taught = cleaned(9, SiteModel.learn(pages))
    assert words not in cleaned(9).text
    assert words in taught.text
    assert [taught.decisions[position].reason for position in taught.taught] == [Reason.KEPT]


def test_a_mark_holds_on_its_own_page_even_if_other_pages_disagree():
    drafted = taught_site.draft(9)
    (position,) = taught_site.positions(drafted, taught_site.offer(9))
    kept = correct(drafted.page, {position: True})
    model = SiteModel.learn([*map(taught_site.corrected, range(1, 6)), kept])
    assert taught_site.offer(9) in cleaned(9, model).text
    assert taught_site.offer(7) not in cleaned(7, model).text


def test_pages_that_look_otherwise_are_cleaned_without_it():
    model = taught_site.site_model()
    page = cleaned(7, model, redesign=True)
    assert (page.fits_site, page.taught) == (False, frozenset())
    assert page.decisions == cleaned(7, redesign=True).decisions
    assert (
        clean("<p>A page of another site has its own words and its own place.</p>", site_model=model).fits_site is False
    )
    assert clean("", site_model=model).decisions == ()


def test_a_page_is_not_turned_over():
    """The text of a whole page is not dropped by one that lost a single block."""
    drafted = taught_site.draft(1)
    story = taught_site.positions(drafted, "Fishermen")
    model = SiteModel.learn([correct(drafted.page, dict.fromkeys(story, False))])
    words = len(cleaned(7).text.split())
    assert len(cleaned(7, model).text.split()) > words / 2


def test_a_finished_page_without_marks_changes_nothing():
    model = SiteModel.learn([taught_site.draft(number).page for number in (1, 2)])
    assert cleaned(7, model).taught == frozenset()
    assert cleaned(7, model).text == cleaned(7).text
    assert SiteModel.learn([]).weights == {}
    assert cleaned(7, SiteModel.learn([])).fits_site is False


def test_an_unfinished_page_says_nothing_of_its_other_blocks():
    page = taught_site.corrected(1)
    record = page.to_record() | {"finished": False}
    model = SiteModel.learn([CorrectedPage.from_record(record)])
    assert taught_site.offer(7) not in cleaned(7, model).text
    assert not any("story-text" in name for _, name in model.weights if name.startswith("p.story-text"))


def test_the_last_correction_of_a_page_counts_and_their_order_does_not():
    first = taught_site.corrected(1)
    second = taught_site.corrected(2)
    again = CorrectedPage.from_record(taught_site.draft(1).page.to_record() | {"corrected_at": "2026-06-01"})
    assert SiteModel.learn([first, second]).to_json() == SiteModel.learn([second, first]).to_json()
    assert SiteModel.learn([again, first]).to_json() == SiteModel.learn([again]).to_json()


def test_corrections_that_contradict_each_other_are_given_up():
    """What the pages teach each other must not harm them: half of the readers keep what the others drop."""
    pages = []
    for number in range(1, 9):
        drafted = taught_site.draft(number)
        marks = dict.fromkeys(taught_site.positions(drafted, "rights belong"), number % 2 == 0)
        marks |= dict.fromkeys(taught_site.positions(drafted, "Engineers"), number % 2 == 1)
        pages.append(correct(drafted.page, marks))
    assert cleaned(11, SiteModel.learn(pages)).text == cleaned(11).text


def test_a_few_wrong_marks_do_not_spread():
    """A tenth of the marks stand on a block by chance."""
    rng = random.Random(7)
    pages = []
    for number in range(1, 11):
        page = taught_site.corrected(number)
        if number % 10 == 0:
            wrong = rng.randrange(len(page.blocks))
            page = correct(page, {wrong: not page.blocks[wrong].kept})
        pages.append(page)
    taught = cleaned(12, SiteModel.learn(pages))
    assert taught.text == cleaned(12).text.replace(f"{taught_site.offer(12)}\n", "")


def test_json_gives_the_same_model():
    model = taught_site.site_model()
    again = SiteModel.from_json(model.to_json())
    assert again.to_json() == model.to_json()
    assert cleaned(7, again).decisions == cleaned(7, model).decisions
    assert json.loads(model.to_json())["pages"] == 2


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "null", '{"format": 2}', '{"format": 1, "weights": 3}', '{"format": 1, "weights": [["a"]]}'],
)
def test_another_text_is_no_model(text):
    with pytest.raises(AnnotationError):
        SiteModel.from_json(text)


def test_a_file_has_the_models_of_several_sites():
    models = {"courier.example": taught_site.site_model(), "b.example": SiteModel.learn([])}
    text = write_site_models(models)
    again = read_site_models(text)
    assert write_site_models(again) == text
    assert sorted(again) == ["b.example", "courier.example"]
    assert read_site_models("") == {}
    with pytest.raises(AnnotationError, match=r"line 3: the site 'b\.example' comes twice"):
        read_site_models(text + text.splitlines()[0])
    with pytest.raises(AnnotationError, match="line 1"):
        read_site_models("{}")


def test_it_says_what_it_has_learned():
    strongest = taught_site.site_model().describe()
    assert strongest[0].startswith("drop p.reader-offer < div.reader-box- < div.story < main: -")
    assert strongest[0].endswith(", on 2 corrected pages")
    assert taught_site.site_model().describe(0) == []


def test_only_the_trained_method_can_be_taught():
    with pytest.raises(OptionError, match="the method 'pab' takes no model of a site; `default` takes them"):
        clean("<p>A text of the page.</p>", method="pab", site_model=taught_site.site_model())


def test_scores_stay_probabilities():
    page = cleaned(7, taught_site.site_model())
    scores = np.array([decision.score for decision in page.decisions])
    assert ((scores >= 0) & (scores <= 1)).all()


def test_a_text_is_loaded_once():
    text = taught_site.site_model().to_json()
    assert load_site_model(text).to_json() == text
    assert load_site_model(text) is load_site_model(text)
    assert load_site_model(None) is None
    with pytest.raises(AnnotationError):
        load_site_model("{}")
