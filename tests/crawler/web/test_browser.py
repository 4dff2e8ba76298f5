"""The web page in a real browser: it is accessible and fits, nothing of an attack runs, times and figures are live."""

import os
import re
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlencode

import axe_playwright_python
import newspapers
import pytest
from cleaned_pages import address, visit
from playwright.sync_api import expect, sync_playwright
from shown_pages import ATTACK, HOSTILE, fill
from sqlalchemy import update
from web_answers import path_of

from crawler.storage.database import opened_engine
from crawler.storage.store import Store
from crawler.storage.tables import request
from crawler.web.routes import make_views

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text("utf-8")
RUN_AXE = "axe.run(document, {iframes: false}).then(found => found.violations.map(one => [one.id, one.nodes[0].html]))"
PATHS = [path_of(view, page=2, other=3) for view in make_views()]
PATHS += [
    "/search?q=ferryman&language=en",
    "/search?q=%22",
    "/search?q=copyright&dropped=true",
    "/nowhere",
    f"/pages/{ATTACK}",
    "/pages/61",
]
LOOKS = {"phone, dark": (390, "dark"), "wide, light": (1_400, "light")}
MILLISECONDS = 300_000
GOLDEN = Path(__file__).parents[2] / "golden"
SCRIPTS = {"news-arabic": 2_000, "news-hindi": 2_001}


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    url = f"sqlite:///{tmp_path_factory.mktemp('browser') / 'blocks.db'}"
    with opened_engine(url) as engine:
        fill(engine)
        store = Store(engine)
        crawl = store.begin_crawl("golden", {})
        store.save(crawl, [visit(number, golden(name)) for name, number in SCRIPTS.items()])
        store.end_crawl(crawl, "finished", {})
    return url


def golden(name):
    return (GOLDEN / name / "page.html").read_bytes().decode("utf-8")


@pytest.fixture(scope="module")
def site(url, serving):
    with serving(url) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def newspapers_site(copy_newspapers, serving):
    with serving(copy_newspapers("sqlite")) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def browser(chromium):
    with sync_playwright() as playwright:
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        yield playwright.chromium.launch(executable_path=chromium, args=sandbox)


@pytest.fixture
def opened(browser, site):
    """Open a path in a window of its own; return the page, and what the browser asked for, ran or complained about."""
    with ExitStack() as stack:

        def run(path, **options):
            context = stack.enter_context(browser.new_context(**options))
            context.set_default_timeout(MILLISECONDS)
            page, seen = context.new_page(), []
            page.on("request", lambda request: seen.append(request.url) if not request.url.startswith(site) else None)
            page.on("dialog", lambda dialog: (seen.append("dialog"), dialog.dismiss()))
            page.on("console", lambda message: seen.append(message.text) if "404" not in message.text else None)
            page.on("pageerror", lambda error: seen.append(str(error)))
            page.goto(f"{site}{path}", wait_until="domcontentloaded")
            return page, seen

        yield run


@pytest.mark.parametrize("look", LOOKS)
def test_every_page_is_accessible_and_fits(opened, site, look):
    width, colours = LOOKS[look]
    page, seen = opened("/", viewport={"width": width, "height": 900}, color_scheme=colours)
    problems_by_path = {}
    for path in PATHS:
        page.goto(f"{site}{path}", wait_until="domcontentloaded")
        page.evaluate(AXE)
        if problems := page.evaluate(RUN_AXE):
            problems_by_path[path] = problems
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, path
    assert problems_by_path == {}
    assert seen == []
    page.evaluate("document.documentElement.removeAttribute('lang')")
    assert page.evaluate(RUN_AXE)[0][0] == "html-has-lang"


def test_nothing_of_an_attack_runs_or_is_fetched(opened, site):
    page, seen = opened("/search?q=attacker")
    page.locator(".results").get_by_role("link", name="alert(1)").click()
    page.wait_for_url("**/pages/*")
    assert HOSTILE[:30] in page.locator("h1").inner_text()
    page.get_by_role("link", name="Original", exact=True).click()
    frame = page.frame_locator("iframe")
    page.locator("iframe").scroll_into_view_if_needed()
    assert "the mayor to everybody" in frame.locator("main").inner_text()
    assert frame.locator("script, img, iframe, object, form").count() == 0
    frame.locator(".t").first.hover()
    for path in ("/", "/failures", "/crawls", "/sites/example.org"):
        page.goto(f"{site}{path}")
    assert seen == []


class Reader:
    """Somebody who has opened the first page, and whose clicks are counted."""

    def __init__(self, page):
        self.page = page
        self.clicks = 0

    def click(self, name, within="body", role="link"):
        self.page.locator(within).get_by_role(role, name=name, exact=True).first.click()
        self.clicks += 1

    def search(self, text):
        self.page.get_by_role("searchbox").first.fill(text)
        self.page.keyboard.press("Enter")
        self.clicks += 1

    def reads(self, text):
        expect(self.page.locator("main")).to_contain_text(text)


def what_broke_last_night(reader):
    reader.click("Sites")
    reader.reads("refused since")
    assert newspapers.REFUSED in "".join(reader.page.locator("main tbody tr").all_inner_texts()[:3])


def what_changed_on_a_site(reader):
    reader.click("Changes")
    reader.click(newspapers.OPEN, "main")
    reader.reads("another headline")


def who_copied_whom(reader):
    reader.click("Copies")
    reader.page.get_by_role(
        "link", name=re.compile(f"articles of {newspapers.ORIGINAL} on {newspapers.COPYING}")
    ).click()
    reader.clicks += 1
    reader.reads("side by side")


def what_is_visited_tonight_and_what_is_late(reader):
    reader.click("Schedule")
    reader.reads("late since")


def what_a_crawl_came_to(reader):
    reader.click("Crawls")
    reader.page.locator("main tbody th a").first.click()
    reader.clicks += 1
    reader.reads("visits")


def where_a_text_stands(reader):
    reader.search("lighthouse quay")
    reader.page.locator(".results h2 a").first.click()
    reader.clicks += 1
    reader.reads("lighthouse")


def why_a_sentence_is_missing(reader):
    reader.search("weather archive")
    reader.click("Search the dropped text of stored pages too")
    reader.reads("as navigation on")


QUESTIONS = (
    what_broke_last_night,
    what_changed_on_a_site,
    who_copied_whom,
    what_is_visited_tonight_and_what_is_late,
    what_a_crawl_came_to,
    where_a_text_stands,
    why_a_sentence_is_missing,
)


def test_seven_questions_take_two_clicks_each_at_most(browser, newspapers_site):
    context = browser.new_context(viewport={"width": 1_400, "height": 900})
    context.set_default_timeout(MILLISECONDS)
    page = context.new_page()
    for question in QUESTIONS:
        page.goto(newspapers_site, wait_until="domcontentloaded")
        reader = Reader(page)
        question(reader)
        assert reader.clicks <= 2, question.__name__
    context.close()


@pytest.mark.parametrize(("name", "direction"), [("news-arabic", "rtl"), ("news-hindi", "ltr")])
def test_texts_run_in_the_direction_of_their_script(opened, name, direction):
    url = urlencode({"url": address(SCRIPTS[name])})
    page, seen = opened(f"/page?{url}", viewport={"width": 390, "height": 900})
    text = page.locator("article.text .block p").first
    assert text.evaluate("one => getComputedStyle(one).direction") == direction
    assert page.locator("html").evaluate("one => getComputedStyle(one).direction") == "ltr"
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert seen == []


def test_times_are_in_the_readers_zone(opened):
    page, _ = opened("/pages/2/metadata", timezone_id="Asia/Tokyo", locale="en-GB")
    seen = page.locator("dl.facts time").first
    assert seen.inner_text() == "1 May 2024, 21:00"
    assert seen.get_attribute("title") == "2024-05-01 12:00 UTC"


def test_pages_are_whole_without_javascript(opened):
    page, _ = opened("/pages/2/metadata", java_script_enabled=False)
    assert page.locator("dl.facts time").first.inner_text() == "2024-05-01 12:00 UTC"
    page.get_by_role("searchbox").fill("ferryman")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?q=ferryman")
    assert page.locator("mark").first.inner_text() == "ferryman"


def test_the_keyboard_reaches_the_content_first(opened):
    page, _ = opened("/")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_the_figures_of_an_open_crawl_change_while_one_looks(opened, url):
    page, seen = opened("/")
    queued = page.locator("[data-field=queued]")
    assert queued.inner_text() == "3"
    with opened_engine(url) as engine, engine.begin() as connection:
        connection.execute(update(request).where(request.c.key == "k0").values(state="done"))
    expect(queued).to_have_text("2", timeout=MILLISECONDS)
    assert page.get_by_text("These figures change while you look.").is_visible()
    assert seen == []
