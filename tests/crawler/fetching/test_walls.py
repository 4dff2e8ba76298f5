"""A page of consent or a log-in in place of an article is a wall; an article under such a dialog is an article."""

import pytest

from cleaning.parse import parse
from crawler.fetching.response_filter import reject_page
from crawler.fetching.walls import RepeatedAnswers, shows_few_words
from crawler.visit import Outcome

ASKED = "https://news.example/politics/the-river-rose-17.html"
PLATFORMS = {
    "onetrust": '<script src="https://cdn.cookielaw.org/scripttemplates/otSDKStub.js"></script>',
    "sourcepoint": '<script src="https://cdn.privacy-mgmt.com/unified/wrapperMessagingWithoutDetection.js"></script>',
    "didomi": '<script src="https://sdk.privacy-center.org/loader.js"></script><div id="didomi-host"></div>',
    "usercentrics": '<script id="usercentrics-cmp" src="https://app.usercentrics.eu/browser-ui/loader.js"></script>',
    "cookiebot": '<script id="Cookiebot" src="https://consent.cookiebot.com/uc.js"></script>',
    "trustarc": '<script src="https://consent.trustarc.com/notice?domain=news.example"></script>',
    "quantcast": '<script src="https://quantcast.mgr.consensu.org/choice.js"></script>',
    "google": '<script src="https://fundingchoicesmessages.google.com/i/pub-1?ers=1"></script>',
}
DIALOG = (
    '<div id="onetrust-banner-sdk" role="dialog"><h2>We value your privacy</h2><p>We and our 842 partners store and '
    "access information on a device, such as cookies. You can change your choice.</p><button>Accept all</button></div>"
)
CONSENT = {
    "en": ("Before you continue", "We and our partners use cookies to show personalised content. Accept all cookies."),
    "de": (
        "Ihre Privatsphäre ist uns wichtig",
        "Wir und unsere Partner verwenden Cookies. Stimmen Sie der Nutzung zu.",
    ),
    "fr": ("Le respect de votre vie privée est notre priorité", "Nos partenaires et nous stockons des cookies."),
    "es": ("Valoramos su privacidad", "Nosotros y nuestros socios almacenamos cookies en su dispositivo."),
    "it": ("Rispettiamo la tua privacy", "Noi e i nostri partner archiviamo cookie sul dispositivo."),
    "nl": ("Jouw privacy", "Wij en onze partners gebruiken cookies en vergelijkbare technieken. Ga je akkoord?"),
    "pl": ("Cenimy Twoją prywatność", "My i nasi partnerzy przechowujemy pliki cookie na urządzeniu."),
    "ja": ("お客様のプライバシーを尊重します", "当社はクッキーを使用します。同意してください。"),
}
SHORT = "<h1>Bridge opened</h1><p>The mayor opened the new bridge over the river this morning in light rain.</p>"
LONG = "<p>The river rose in the night and carried the old bridge down to the mill, said the mayor.</p>" * 12


def outcome(body, url=ASKED, asked=None, head="<title>News Example</title>"):
    document = f"<!DOCTYPE html><html><head>{head}</head><body>{body}</body></html>".encode()
    rejection = reject_page(parse(document, url), document, asked)
    return rejection and rejection.outcome


@pytest.mark.parametrize("script", PLATFORMS.values(), ids=PLATFORMS)
def test_only_the_dialog_of_a_platform_is_a_wall(script):
    text = "<h1>Ihre Wahl</h1><p>Wir brauchen Ihre Zustimmung zu Cookies und Messungen.</p><button>Ja</button>"
    assert outcome(script + text) is Outcome.WALL
    assert outcome(script) is Outcome.WALL
    assert outcome(DIALOG, head=f"<title>The river rose</title>{script}") is Outcome.WALL
    assert outcome(script + LONG + DIALOG) is None
    assert outcome(SHORT + DIALOG, head=f"<title>Bridge opened</title>{script}") is None
    assert outcome(SHORT, head=f"<title>Bridge opened</title>{script}") is None


@pytest.mark.parametrize(("title", "text"), CONSENT.values(), ids=CONSENT)
def test_the_usual_words_are_a_wall_without_a_platform(title, text):
    assert outcome(f"<p>{text}</p>", head=f"<title>{title}</title>") is Outcome.WALL
    assert outcome(f"<h1>{title}</h1><p>{text}</p><button>OK</button>") is Outcome.WALL
    assert outcome(f"{LONG}<h1>{title}</h1><p>{text}</p>") is None
    assert outcome(f"{SHORT}<h1>{title}</h1><p>{text}</p>") is None


@pytest.mark.parametrize(
    "url",
    [
        "https://consent.news.example/collect?session=3",
        "https://news.example/consent?then=%2Fpolitics%2Fthe-river-rose-17.html",
        "https://myprivacy.publisher.example/?siteKey=1",
        "https://news.example/login?next=https%3A%2F%2Fnews.example%2Fpolitics%2Fthe-river-rose-17.html",
        "https://news.example/welcome/?from=/politics/the-river-rose-17.html",
    ],
)
def test_a_redirect_to_an_address_of_consent_is_a_wall_in_any_language(url):
    assert outcome("<h1>Täname</h1><p>Palun andke oma luba enne lugemist, aitäh.</p>", url, ASKED) is Outcome.WALL
    assert outcome(SHORT, "https://news.example/politics/17.html", ASKED) is None
    assert outcome(SHORT, f"{ASKED}?from=/politics/the-river-rose-17.html", ASKED) is None


def test_text_in_the_state_of_a_script_is_a_page():
    data = '{"@type": "NewsArticle", "headline": "The river rose", "articleBody": "%s"}'
    state = f'<script type="application/ld+json">{data}</script>'
    prose = "The river rose in the night and carried the old bridge down to the mill, said the mayor of the town. " * 8
    assert outcome(PLATFORMS["onetrust"] + state % prose) is None
    assert outcome(PLATFORMS["onetrust"]) is Outcome.WALL


def answers(*pages):
    """What each answer shows of the ones before it, as their paths."""
    repeated = RepeatedAnswers()
    found = [repeated.add(url, parse(body.encode(), url), Outcome.PAGE) for url, body in pages]
    return [others if others is None else [other.asked.rpartition("/")[2] for other in others] for others in found]


def test_the_same_few_words_at_two_addresses_are_a_wall():
    site, other = "https://a.example/", "https://b.example/"
    wall = "<title>{0}</title><body><h2>Tere</h2><p>Lugemiseks vajuta nuppu. Ray 8f2c3a91d0{0}</p><button>Jah</button>"
    assert answers(*[(f"{site}{n}", wall.format(n)) for n in (1, 2, 3)]) == [[], ["1"], ["1", "2"]]
    assert answers((f"{site}1", wall), (f"{other}2", wall)) == [[], []]


@pytest.mark.parametrize(
    "body",
    [
        "<h1>{0}th bridge</h1><p>It was opened in light rain.<form></form>",
        "<p>The river rose in the night and carried the bridge.",
        f"<h1>The river</h1><form></form>{LONG}",
        f'<link rel=canonical href="{ASKED}"><body>{SHORT}<form></form>',
        f'<meta property="article:published_time" content="2026-03-01"><title>Opened</title><body>{SHORT}<form></form>',
    ],
    ids=["other-words", "asks-nothing", "long", "same-canonical", "same-date"],
)
def test_two_short_pages_are_no_wall(body):
    assert not any(answers(*[(f"https://a.example/{n}", body.format(n)) for n in (1, 2)]))


@pytest.mark.parametrize("repeated", ["<a>", "<", "<!--", "</nav ", "\u200e\u202a", "a1", "a-"])
def test_a_page_takes_time_in_proportion_to_its_size(repeated):
    body = f"<!DOCTYPE html><title>x</title><body><button>ok</button><p>{repeated * 100_000}"
    assert not any(answers(*[(f"https://a.example/{n}", body) for n in (1, 2)]))
    assert shows_few_words(body.encode(), len(body))
