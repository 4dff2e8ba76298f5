"""ECON: the snippet node, the climb to the summary node, and noise without punctuation."""

from cleaning import Reason, clean
from cleaning.terms import count_marks


def judged(page, **options):
    return [
        (decision.block.text, decision.score, decision.reason)
        for decision in clean(page, method="econ", **options).decisions
    ]


# Marks: nav 0; first p 1, second 4 (the snippet), list 0, box 1 + 0; article 6; wrapper 6; footer 1.
PAGE = """
    <div>Home</div>
    <div><div>
        <h1>Headline</h1>
        <p>One.</p>
        <p>Two, three; four, five.</p>
        <ul><li>Share</li><li>Print</li></ul>
        <section><h2>Box</h2><p>Six.</p></section>
    </div></div>
    <footer>Seven.</footer>
"""


def test_the_climb_ends_where_the_parent_adds_no_mark():
    assert judged(PAGE) == [
        ("Home", 0.0, Reason.OUTSIDE),
        ("Headline", 0.0, Reason.PUNCTUATION),
        ("One.", 1.0, Reason.KEPT),
        ("Two, three; four, five.", 4.0, Reason.KEPT),
        ("Share", 0.0, Reason.PUNCTUATION),
        ("Print", 0.0, Reason.PUNCTUATION),
        ("Box", 0.0, Reason.KEPT),  # its section adds a mark
        ("Six.", 1.0, Reason.KEPT),
        ("Seven.", 1.0, Reason.OUTSIDE),
    ]


def test_without_a_wrapper_the_climb_goes_on_to_the_body():
    reasons = {
        text: reason for text, _, reason in judged("<div><p>A, b.</p><p>C.</p></div><footer>D.</footer><p>E</p>")
    }
    assert reasons == {"A, b.": Reason.KEPT, "C.": Reason.KEPT, "D.": Reason.KEPT, "E": Reason.PUNCTUATION}


def test_the_snippet_alone_where_its_parent_adds_nothing():
    page = "<div><div><p>A, b.</p><p>C</p></div><p>D.</p></div>"
    assert [reason for *_, reason in judged(page)] == [Reason.KEPT, Reason.OUTSIDE, Reason.OUTSIDE]


def test_inline_tags_are_no_steps_of_the_climb():
    page = "<div><p><b><i>A, b.</i></b></p><p>C.</p></div>"
    assert [reason for *_, reason in judged(page)] == [Reason.KEPT, Reason.KEPT]


def test_the_first_of_equally_rich_texts_is_the_snippet():
    page = "<div><div><p>A.</p></div></div><div><div><p>B.</p></div></div>"
    assert [reason for *_, reason in judged(page)] == [Reason.KEPT, Reason.OUTSIDE]


def test_a_page_without_punctuation_has_no_content():
    assert [reason for *_, reason in judged("<p>one two</p><p>three</p>")] == [Reason.OUTSIDE] * 2


def test_a_part_with_fewer_marks_than_asked_for_is_noise():
    page = "<div><p>A, b, c.</p><p>D.</p></div>"
    assert [reason for *_, reason in judged(page, econ_min_marks=2)] == [Reason.KEPT, Reason.PUNCTUATION]


def test_marks_are_those_of_running_text():
    assert count_marks("a, b. c; d: e! f?") == 6
    assert count_marks("中，文。日、本；：！？") == 7
    assert count_marks("Home | News » Sport - “More” (all)") == 0
    assert count_marks("") == 0
