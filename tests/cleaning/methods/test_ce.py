"""CE: what pages of a site share is learnt and dropped; of the rest the longest block is kept."""

from dataclasses import replace

import pytest
from xxhash import xxh64_intdigest

from cleaning import Reason, clean, parse
from cleaning.errors import OptionError
from cleaning.methods.informative_sections import learn_template

FOX = "The quick brown fox jumps over the lazy dog."
CAT = "The cat on the warm stove looks at the fox, and at nothing else."
NOTICE = "This long notice about cookies, terms and all our rights stands on every single page of the site. " * 2


def page(*texts, menu="<ul><li><a>Home</a></li></ul>"):
    return parse(f"{menu}{''.join(f'<p>{text}</p>' for text in texts)}<p>{NOTICE}</p>")


def cleaned(one, template):
    return clean(replace(one, template=template), method="ce")


def reasons(one, template):
    return [decision.reason for decision in cleaned(one, template).decisions]


def test_shared_blocks_are_dropped_and_the_longest_of_the_rest_kept():
    first, second = page("Of foxes", FOX), page("Of cats", CAT)
    template = learn_template([first, second])
    assert reasons(first, template) == [Reason.TEMPLATE, Reason.OUTSIDE, Reason.KEPT, Reason.TEMPLATE]
    assert cleaned(second, template).text == CAT


def test_page_that_was_not_learnt_from_is_cleaned_by_the_template():
    assert cleaned(page("New"), learn_template([page(FOX), page(CAT)])).text == "New"


def test_score_is_the_length_in_characters():
    one = page(FOX)
    assert [decision.score for decision in cleaned(one, frozenset()).decisions] == [4, len(FOX), len(NOTICE) - 1]


def test_pattern_is_the_text_and_the_tags_around_it():
    same = learn_template([parse("<p>one <b>two</b></p>"), parse("<p>one\n  <b>two</b></p>")])
    assert len(same) == 1
    assert learn_template([parse("<p>one <b>two</b></p>"), parse("<p>one <i>two</i></p>")]) == frozenset()
    assert learn_template([parse("<p>one</p>"), parse("<ul>one</ul>")]) == frozenset()
    assert learn_template([parse("<p>one</p>"), parse("<p>two</p>")]) == frozenset()


def test_repetition_inside_one_page_is_no_repetition_between_pages():
    assert learn_template([parse("<p>x</p><p>x</p>"), parse("<p>y</p>")]) == frozenset()


def test_least_pages_is_how_many_must_share_a_pattern():
    pages = [page(FOX), page(FOX), page(CAT)]
    assert reasons(pages[0], learn_template(pages, 3)) == [Reason.TEMPLATE, Reason.KEPT, Reason.TEMPLATE]
    assert reasons(pages[0], learn_template(pages, 2)) == [Reason.TEMPLATE] * 3


def test_pages_are_read_one_at_a_time():
    assert learn_template(page(text) for text in (FOX, CAT)) == learn_template([page(FOX), page(CAT)])


@pytest.mark.parametrize("pages", [[], [page(FOX)]])
def test_fewer_than_two_pages_teach_nothing(pages):
    assert learn_template(pages) == frozenset()


def test_least_pages_below_two_is_refused():
    with pytest.raises(OptionError, match="least_pages is 1"):
        learn_template([], 1)


def test_page_given_twice_is_noise_altogether():
    one = page(FOX)
    assert set(reasons(one, learn_template([one, one]))) == {Reason.TEMPLATE}
    assert cleaned(one, learn_template([one, one])).text == ""


def test_text_outside_blocks_and_empty_blocks_are_neither_learnt_nor_kept():
    one = parse(f"<div>{FOX}</div><p></p><p>x</p>")
    template = learn_template([one, parse(f"<div>{FOX}</div><p></p><p>y</p>")])
    assert template == frozenset()
    assert reasons(one, template) == [Reason.UNBLOCKED, Reason.EMPTY, Reason.KEPT]


def test_first_of_equally_long_blocks_is_kept():
    assert cleaned(parse("<p>abc</p><p>def</p>"), frozenset()).text == "abc"


def test_page_without_a_template_is_refused():
    with pytest.raises(OptionError, match="template"):
        clean("<p>x</p>", method="ce")


def test_pattern_is_the_hash_of_tags_and_text():
    assert learn_template([parse("<p>x</p>")] * 2) == {xxh64_intdigest(b"p p\nx")}


def test_odd_characters_do_no_harm():
    odd = parse("<p>\ud800\x01 x</p><\x7f>y</p>")
    assert cleaned(odd, learn_template([odd, odd])).text == ""
