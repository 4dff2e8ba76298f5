"""The same in a real browser: two blocks are marked, the site is accepted, and another page of it is right."""

import os
from pathlib import Path

import axe_playwright_python
import pytest
import taught_site
from cleaned_pages import visit_at
from playwright.sync_api import sync_playwright

from cleaning import clean
from cleaning.teaching import SiteModel
from crawler.storage.database import opened_engine, read_transaction
from crawler.storage.store import Store
from crawler.teaching import records

AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text("utf-8")
RUN_AXE = "axe.run(document).then(found => found.violations.map(one => [one.id, one.nodes[0].html]))"
MILLISECONDS = 300_000
SCRIPT = "<script>document.title = 'hacked'</script>"
HOSTILE = taught_site.page_html(90).replace(
    "Fishermen of", f"{SCRIPT.replace('<', '&lt;')}<b onclick=x>Fishermen</b> of"
)
RIGHTS = "All rights belong to the Courier and its writers"


@pytest.fixture(scope="module")
def browser(chromium):
    with sync_playwright() as playwright:
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        yield playwright.chromium.launch(executable_path=chromium, args=sandbox)


@pytest.fixture
def url(taught_url):
    url = taught_url()
    with opened_engine(url) as engine:
        store = Store(engine)
        store.save(store.begin_crawl("hostile", {}), [visit_at(taught_site.address(90), HOSTILE)])
    return url


def test_two_marks_make_another_page_right(browser, url, serve_edits):
    with serve_edits(url) as port, browser.new_context() as context:
        page = context.new_page()
        page.set_default_timeout(MILLISECONDS)
        page.goto(f"http://127.0.0.1:{port}/pages/2?token=a+token+of+many+letters")
        page.get_by_role("link", name="Correct").click()
        page.get_by_label(taught_site.offer(1)).uncheck()
        page.get_by_label(RIGHTS).check()
        page.get_by_label("Your name").fill("Anna")
        page.evaluate(AXE)
        assert page.evaluate(RUN_AXE) == []
        page.get_by_role("button", name="Store").click()
        assert "9 would change" in page.get_by_role("main").inner_text()
        page.evaluate(AXE)
        assert page.evaluate(RUN_AXE) == []
        page.get_by_role("button", name="Accept").click()
        page.get_by_text("Accepted: crawls clean the site by 1 corrected page.").wait_for()
    with opened_engine(url) as engine, read_transaction(engine) as connection:
        model = SiteModel.from_json(records.read_site_model(connection, "courier.example"))
    text = clean(taught_site.page_html(30), taught_site.address(30), site_model=model).text
    assert taught_site.offer(30) not in text
    assert RIGHTS in text


def test_a_click_on_the_page_ticks_a_block(browser, url, serve_edits):
    with serve_edits(url) as port, browser.new_context() as context:
        page = context.new_page()
        page.set_default_timeout(MILLISECONDS)
        page.goto(f"http://127.0.0.1:{port}/edit/pages/2?token=a+token+of+many+letters")
        sheet = page.locator(".sheet")
        offer = sheet.get_by_text(taught_site.offer(1))
        assert "on" in offer.get_attribute("class").split()
        offer.click()
        sheet.get_by_text(RIGHTS).click()
        assert "on" not in offer.get_attribute("class").split()
        assert not page.get_by_label(taught_site.offer(1)).is_checked()
        assert page.get_by_label(RIGHTS).is_checked()
        page.get_by_label("Your name").fill("Anna")
        page.get_by_role("button", name="Store").click()
        assert "9 would change" in page.get_by_role("main").inner_text()


def test_without_a_script_the_ticks_stand_alone(browser, url, serve_edits):
    with serve_edits(url) as port, browser.new_context(java_script_enabled=False) as context:
        page = context.new_page()
        page.set_default_timeout(MILLISECONDS)
        page.goto(f"http://127.0.0.1:{port}/edit/pages/2?token=a+token+of+many+letters")
        assert not page.locator(".sheet").is_visible()
        assert page.get_by_label(taught_site.offer(1)).is_checked()


def test_texts_of_pages_are_inert_in_the_form(browser, url, serve_edits):
    with serve_edits(url) as port, browser.new_context() as context:
        page = context.new_page()
        page.set_default_timeout(MILLISECONDS)
        page.goto(f"http://127.0.0.1:{port}/edit/pages/9?token=a+token+of+many+letters")
        assert SCRIPT in page.get_by_role("main").inner_text()
        assert "hacked" not in page.title()


@pytest.mark.parametrize("width", [390, 1_400])
def test_the_form_fits(browser, url, serve_edits, width):
    with serve_edits(url) as port, browser.new_context(viewport={"width": width, "height": 900}) as context:
        page = context.new_page()
        page.set_default_timeout(MILLISECONDS)
        page.goto(f"http://127.0.0.1:{port}/edit/pages/2?token=a+token+of+many+letters")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [390, 1_400])
def test_a_job_is_started_by_a_button(browser, url, serve_edits, width):
    with serve_edits(url) as port, browser.new_context(viewport={"width": width, "height": 900}) as context:
        page = context.new_page()
        page.set_default_timeout(MILLISECONDS)
        page.goto(f"http://127.0.0.1:{port}/edit/jobs?token=a+token+of+many+letters")
        page.get_by_role("textbox", name="Address").fill("https://courier.example/news/")
        page.evaluate(AXE)
        assert page.evaluate(RUN_AXE) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.get_by_role("button", name="Set the section aside").click()
        page.get_by_text("failed with exit code 2").wait_for()
        page.evaluate(AXE)
        assert page.evaluate(RUN_AXE) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert "no section is stored at" in page.get_by_label("Log").inner_text()
