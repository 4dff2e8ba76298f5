"""Pages on which a word, a tag or a link says something else than it usually does; the shipped model reads them."""

import pytest

from cleaning import Reason, clean

PROSE = [
    " ".join(text.split())
    for text in """\
The mill above Tarnbrook has not ground any flour since the flood of 1987, when the weir broke and the wheel was
carried half a mile down the valley. Since then its owners have used the ground floor as a store for seed potatoes.

Last spring two sisters bought the building from the county. They want to bake bread in it, and they have found a
carpenter who still knows how a breast wheel is made. He says that the oak alone will cost as much as a small car.

The county has promised to repair the weir, because the fish ladder beside it is broken as well. Work begins in
August, after the young trout have left the pool, and should be finished before the first frost in November.

Not everyone in the village likes the plan. The road to the mill is narrow, and on Saturdays there would be forty cars
more on it. The sisters answer that most of their customers live close enough to walk or to cycle.

Whether the bread will pay for the wheel is another question. A mill in the next valley closed again after three
years, although its loaves were sold as far away as the coast, and its debts were paid by the parish.
""".split("\n\n")
]
FRAME = """<!doctype html><html lang="en"><head><title>The mill above Tarnbrook - Valley Herald</title></head><body>
<header><a href="/">Valley Herald</a><nav><ul><li><a href="/news">News</a></li><li><a href="/farm">Farming</a></li>
<li><a href="/sport">Sport</a></li></ul></nav></header>{}<aside><h3>Most read</h3><ul><li><a href="/1">Sheep on the
line</a></li><li><a href="/2">New bells for the chapel</a></li></ul></aside><footer><p>© 2024 Valley Herald. All rights
reserved.</p><ul><li><a href="/imprint">Imprint</a></li></ul></footer></body></html>"""
TITLE = "<h1>The mill above Tarnbrook</h1>"
PARAGRAPHS = "".join(f"<p>{text}</p>" for text in PROSE)


def cleaned(inside, **options):
    return clean(FRAME.format(inside), "https://www.valley-herald.example/news/the-mill", **options)


def missing(page, texts=PROSE):
    """Return the texts that are not kept."""
    return [text for text in texts if text not in " ".join(page.text.split())]


def named(form, word, text):
    """Return a paragraph with a word as class or id, or as the class of a label at its start."""
    if form == "label":
        return f'<p><span class="{word}">Note: </span>{text}</p>'
    return f'<p {form}="{word}">{text}</p>'


WORDS = ("comment", "social", "promo", "legal", "sharing", "dialog", "newsletter", "visually-hidden", "vcard", "aside")


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("form", ["class", "id", "label"])
def test_word_on_every_paragraph_takes_none(form, word):
    page = cleaned(f"<main><article>{TITLE}{''.join(named(form, word, text) for text in PROSE)}</article></main>")
    assert missing(page) == []


@pytest.mark.parametrize("word", ["pagination", "legal", "comments", "sharing-with-others", "form", "dialog", "footer"])
def test_section_named_by_its_heading_is_kept(word):
    title = word.replace("-", " ").capitalize()
    sections = [f"<section id='overview'><h2>Overview</h2><p>{PROSE[0]}</p><p>{PROSE[1]}</p></section>"]
    sections += [f"<section id='{word}'><h2>{title}</h2><p>{PROSE[2]}</p></section>"]
    sections += [f"<section id='costs'><h2>Costs</h2><p>{PROSE[3]}</p><p>{PROSE[4]}</p></section>"]
    assert missing(cleaned(f"<main>{TITLE}{''.join(sections)}</main>")) == []


@pytest.mark.parametrize(
    "wrapped",
    [
        '<div class="dialog-off-canvas-main-canvas" data-off-canvas-main-canvas>{}</div>',
        "<aside><main>{}</main></aside>",
        '<div class="modal-open popup social"><article>{}</article></div>',
        '<div id="comments-enabled" class="comment-open widget"><article>{}</article></div>',
        "<footer><div>{}</div></footer>",
    ],
)
def test_wrapper_of_the_whole_article_takes_nothing(wrapped):
    assert missing(cleaned(wrapped.format(TITLE + PARAGRAPHS))) == []


def test_texts_of_a_slideshow_stand_in_captions():
    slides = "".join(
        f'<figure><img src="/{number}.jpg"><figcaption><h3>View {number}</h3><p>{text}</p></figcaption></figure>'
        for number, text in enumerate(PROSE, 1)
    )
    assert missing(cleaned(f"<main><article>{TITLE}<p>Five views of a mill.</p>{slides}</article></main>")) == []


def test_code_that_begins_with_a_comment_is_kept():
    lines = '<span class="hljs-comment"># Open the sluice.</span>\nsluice.open(width=3)\nwheel.start()'
    code = f"<pre><code>{lines}</code></pre>"
    page = cleaned(f"<main>{TITLE}<p>{PROSE[0]}</p>{code}<p>{PROSE[1]}</p><p>{PROSE[2]}</p></main>")
    assert "sluice.open(width=3)" in page.text
    assert missing(page, PROSE[:3]) == []


QUESTIONS = {
    "When can I buy bread?": "The shop opens at seven on every day but Monday, and closes when all bread is sold.",
    "Is there a place to sit?": "There are four tables in the yard, and in winter two more inside beside the oven.",
    "May I bring my own flour?": "You may, if you tell us a day before, so that we can clean the small oven for it.",
}


@pytest.mark.parametrize(
    "opened",
    [
        "<div><button>{}</button><div><p>{}</p></div></div>",
        "<details><summary>{}</summary><p>{}</p></details>",
        "<div class=accordion><label>{}</label><div class=panel><p>{}</p></div></div>",
    ],
)
def test_questions_of_an_accordion_are_kept(opened):
    answers = "".join(opened.format(*both) for both in QUESTIONS.items())
    page = cleaned(f"<main><h1>Questions about the bakery</h1><p>{PROSE[1]}</p>{answers}</main>")
    assert missing(page, [*QUESTIONS, *QUESTIONS.values()]) == []


def test_linked_titles_of_whole_posts_are_kept():
    titles = ("A wheel of oak", "The weir in August", "Bread and its price")
    posts = "".join(
        f'<article><header><h2><a href="/{n}">{title}</a></h2></header><p>{PROSE[n]}</p><p>{PROSE[n + 1]}</p></article>'
        for n, title in enumerate(titles)
    )
    page = cleaned(posts)
    assert missing(page, titles) == []


TEASERS = (
    "The chapel has not had any bells since they were melted down in the war, and three of the new ones weigh a ton.",
    "On Friday evening a flock of sheep stopped the train from the coast for an hour, and nobody knows whose they are.",
    "Potatoes are dearer than they have been for twenty years, because most of the seed rotted in the wet spring.",
    "In the final of the valley cup the guests scored twice in the last five minutes, and the hosts complained.",
)


@pytest.mark.xfail(reason="teasers that are longer than the news are taken for it")
@pytest.mark.parametrize(
    "box", ["<aside class='related-articles'>{}</aside>", "<section><h2>More news</h2>{}</section>"]
)
def test_teasers_below_short_news_are_dropped(box):
    news = (
        "The road to Tarnbrook mill is closed until Thursday. A lorry with gravel had damaged the bridge on Monday.",
        "Cyclists can use the path along the weir, the county said on Tuesday.",
    )
    teasers = "".join(
        f'<div class="teaser"><a href="/{n}"><h3>Other news {n}</h3></a><p>{text}</p></div>'
        for n, text in enumerate(TEASERS)
    )
    body = "".join(f"<p>{text}</p>" for text in news)
    page = cleaned(f"<main><article>{TITLE}{body}</article>{box.format(teasers)}</main>")
    assert missing(page, news) == []
    assert missing(page, TEASERS) == list(TEASERS)


COMMENTS = (
    "I remember the flood well, my uncle lost two cows and a tractor in it. Good luck to the sisters!",
    "Forty cars on that road? You must be joking. Has anybody asked the people who live there?",
    "@Hedda: I live there, and I would rather have bread than potatoes next door.",
)
THREADS = (
    '<div id="comments"><h3>3 comments</h3><ol class="commentlist">{}</ol></div>',
    "<h3>3 Responses to “The mill above Tarnbrook”</h3><ol>{}</ol>",
)


@pytest.mark.parametrize("thread", THREADS)
def test_comments_below_an_article_are_dropped_and_an_option_keeps_them(thread):
    names = ("Hedda", "Old Tom", "miller77")
    items = "".join(
        f'<li class="comment"><cite>{name}</cite> says: <small>May {n}, 2009 at 9:1{n} pm</small><p>{text}</p>'
        '<a href="#reply">Reply</a></li>'
        for n, (name, text) in enumerate(zip(names, COMMENTS, strict=True), 1)
    )
    body = f"<article>{TITLE}{PARAGRAPHS}</article>{thread.format(items)}"
    page = cleaned(body)
    assert missing(page) == []
    assert missing(page, COMMENTS) == list(COMMENTS)
    assert {d.reason for d in page.decisions if d.block.text in COMMENTS} == {Reason.COMMENT}
    assert missing(cleaned(body, comments=True), (*PROSE, *COMMENTS)) == []


LETTER = "Sign up for our letter and get the best of the valley in your inbox every Friday morning, for free."
ADVERT = "Bolder boots for wet valleys: a third off in all our shops, and shipped to your door within two days."
NOTICE = "We and our partners use cookies to store data on your device and to show ads that suit you."


@pytest.mark.parametrize(
    "box",
    [
        f'<div id="cookie-consent" class="cookie-banner"><h2>Your privacy</h2><p>{NOTICE}</p><a>Accept</a></div>',
        f'<div class="newsletter-box"><h3>Never miss a story</h3><p>{LETTER}</p><form><input></form></div>',
        f'<div class="ad-slot advertisement"><p>{ADVERT}</p></div>',
    ],
)
def test_box_inside_an_article_is_dropped(box):
    halves = "".join(f"<p>{text}</p>" for text in PROSE[:2]), "".join(f"<p>{text}</p>" for text in PROSE[2:])
    page = cleaned(f"<main><article>{TITLE}{halves[0]}{box}{halves[1]}</article></main>")
    assert missing(page) == []
    assert not any(text in page.text for text in (NOTICE, LETTER, ADVERT))


def test_one_paragraph_of_news_is_never_an_empty_text():
    page = cleaned(f"<div><div>{PROSE[0]}</div></div>")
    assert missing(page, PROSE[:1]) == []


@pytest.mark.parametrize(
    "notice",
    [
        "<noscript>You need to enable JavaScript to run this app.</noscript><div id=root></div>",
    ],
)
def test_error_or_notice_has_no_text(notice):
    assert cleaned(notice).text == ""


@pytest.mark.parametrize(
    "farewell",
    [
        '<p>You receive this letter because you asked. <a href="/u">Unsubscribe</a></p><p>Quay Street 4</p>',
        '<p>Sie erhalten diese Mail, weil Sie sich angemeldet haben.</p><p><a href="/u">Newsletter abbestellen</a></p>',
        '<p>Vous recevez cette lettre à la suite de votre inscription. <a href="/u">Se désabonner</a></p>',
    ],
)
def test_the_end_of_a_newsletter_is_no_text(farewell):
    news = "".join(
        f"<tr><td><h2>{place}</h2><p>The bell of the {place} has been stolen, and the police have asked everybody to "
        "listen. It weighs ninety kilos and has a crack, so it sounds like a pot at night.</p></td></tr>"
        for place in ("outer mole", "old school", "ferry")
    )
    page = clean(f"<body><table><tr><td><table>{news}<tr><td>{farewell}</td></tr></table></td></tr></table>")
    assert "ferry has been stolen" in page.text
    assert "Unsubscribe" not in page.text + page.markdown
    assert page.text.endswith("a pot at night.")
