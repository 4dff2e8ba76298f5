"""The tag-based method: a block stays unless a tag rule speaks against it."""

from cleaning import Reason, clean

URL = "https://www.example.com/news.html"
PAGE = """<body>
<div>A menu without punctuation</div>
<div>The ferry left, at last.</div>
<div>The ferry left, at last.</div>
<div><a href="https://twitter.com/x">Follow</a></div>
<div class="ad">Buy</div>
<div></div>
<table><tr><td>Cell <span class="banner">Buy</span></td></tr></table>
<p>Outside</p>
</body>"""


def test_only_the_tag_rules_decide():
    found = clean(PAGE, URL, method="tags").decisions
    assert [(one.block.text, one.score, one.reason) for one in found] == [
        ("A menu without punctuation", 1.0, Reason.KEPT),
        ("The ferry left, at last.", 1.0, Reason.KEPT),
        ("The ferry left, at last.", 1.0, Reason.KEPT),
        ("Follow", 0.0, Reason.SOCIAL),
        ("Buy", 0.0, Reason.ADVERTISEMENT),
        ("", 0.0, Reason.EMPTY),
        ("Cell", 1.0, Reason.KEPT),
        ("Buy", 0.0, Reason.ADVERTISEMENT),
        ("Outside", 0.0, Reason.UNBLOCKED),
    ]


def test_a_page_without_blocks_keeps_nothing():
    assert clean("<p>Text, in no block.</p>", URL, method="tags").counts() == {Reason.UNBLOCKED: 1}
