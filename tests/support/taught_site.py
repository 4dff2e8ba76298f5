"""A made-up site with a mistake on each of its pages, and the corrections of a reader."""

from cleaning import parse
from cleaning.teaching import SiteModel, correct
from cleaning.teaching.draft import draft_correction

TIME = "2026-05-01T10:00:00Z"
_LINES = (
    "The council of {place} decided on Monday to repair the old harbour wall before the winter storms begin. ",
    "Fishermen of {place} had asked for it since the flood of last year, which took two boats and a shed. ",
    "The work costs nine million crowns, of which the state pays a half, the mayor of {place} said. ",
    "Engineers will close the quay for three weeks, and the ferry of {place} lands at the northern pier. ",
)
_OFFERS = (
    "Readers of the paper get the large atlas of the coast for half of its price until the end of the month, {place}.",
    "Win two nights for four people in the lighthouse hotel: write to us which ship you like best, and why, {place}.",
    "Our archive has all issues since 1911. Subscribers read it free of charge on every day of the week, {place}.",
)


def address(number):
    return f"https://courier.example/news/{number}"


def place(number):
    return f"Ostrand-{number}"


def offer(number):
    return _OFFERS[number % 3].format(place=place(number))


def page_html(number, *, redesign=False):
    """A page of the site: an article with an offer inside that looks like its text."""
    lines = [line.format(place=place(number)) * 2 for line in _LINES]
    paragraphs = [f'<p class="story-text">{line}</p>' for line in lines]
    paragraphs.insert(2, f'<div class="reader-box-{number}"><p class="reader-offer">{offer(number)}</p></div>')
    body = f'<main><div class="story"><h1>Harbour wall of {place(number)}</h1>{"".join(paragraphs)}</div></main>'
    if redesign:
        paragraphs = [f'<p class="copy-{number}">{line}</p>' for line in lines]
        body = f'<section class="sheet"><h1>Harbour wall of {place(number)}</h1>{"".join(paragraphs)}</section>'
    menu = '<nav class="menu"><a href="/">Front page</a> <a href="/sport">Sport of the week</a></nav>'
    foot = '<div class="foot"><p>All rights belong to the Courier and its writers</p></div>'
    return f"<!doctype html><html><head><title>Harbour {number}</title></head><body>{menu}{body}{foot}</body></html>"


def draft(number, site_model=None):
    return draft_correction(parse(page_html(number), address(number)), "anna", TIME, site_model)


def positions(drafted, words):
    """The positions of the blocks of a draft with some words."""
    return [decision.block.position for decision in drafted.decisions if words in decision.block.text]


def corrected(number):
    """The page with its offer marked as no text."""
    drafted = draft(number)
    (position,) = positions(drafted, offer(number))
    return correct(drafted.page, {position: False})


def site_model(*numbers):
    """The model of the site after the correction of some pages."""
    return SiteModel.learn(map(corrected, numbers or (1, 2)))
