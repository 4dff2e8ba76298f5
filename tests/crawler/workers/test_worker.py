"""A page cleaned in a worker: the same as from its tree in the crawl."""

import pickle
from copyreg import dispatch_table

import pytest

from cleaning import METHODS, Block, Decision, Metadata, PageError, PageFault, clean, parse
from cleaning.classifier import model
from cleaning.layout import Box, Layout
from crawler.errors import SetupError
from crawler.visit import FetchedPage
from crawler.workers.worker import PageToClean, clean_page, crawl_task, load_models, prepare_worker

URL = "https://town.example.org/library"
PROSE = "The town library — café, tables, lamps — opens again on Monday after two years of repairs. " * 3
PAGE = f"<html><head><title>Library</title></head><body><h1>Library</h1><p>{PROSE}</p><p>Menu</p></body></html>"


def fetched(body, declared=None, **more):
    return FetchedPage(URL, body, parse(body, URL, declared), Metadata(), **more)


@pytest.mark.parametrize(
    ("body", "declared"),
    [
        (PAGE.encode(), None),
        (PAGE.encode("utf-8-sig"), None),
        (PAGE.encode("utf-16"), None),
        (PAGE.encode("cp1252"), "text/html; charset=windows-1252"),
        (PAGE.encode("cp1252"), "text/html; charset=utf-8"),
        (PAGE.replace("<head>", "<head><meta charset=gb2312>").encode(), None),
        (PAGE.replace("lamps", "\ufeff\x00lamps").encode(), None),
        (("<div>" * 3000 + PAGE).encode(), None),
        (b"", None),
    ],
)
def test_a_page_cleaned_from_its_bytes_equals_the_one_from_its_tree(body, declared):
    page = fetched(body, declared)
    assert clean_page(PageToClean.from_fetched(page), method="default", options={}) == clean(page.tree)


def test_the_task_has_the_method_and_the_options():
    task = crawl_task("pab", {"max_blocks": 100}, 1.0)
    page = fetched(PAGE.encode())
    assert task.work(PageToClean.from_fetched(page)) == clean(page.tree, method="pab", max_blocks=100)


def test_the_page_s_own_method_wins():
    page = fetched(PAGE.encode(), method="tags")
    assert crawl_task("pab", {}, 1.0).work(PageToClean.from_fetched(page)) == clean(page.tree, method="tags")


def test_a_layout_is_sent_with_the_page():
    page = fetched(PAGE.encode())
    tags = tuple(element.tag for element in page.tree.root.iter())
    layout = Layout(tags, tuple(Box(0, 10 * place, 100, 10, 16.0) for place in range(len(tags))))
    sent = PageToClean.from_fetched(fetched(PAGE.encode()))
    laid_out = PageToClean(sent.body, sent.url, sent.encoding, layout=layout)
    assert METHODS["vce"].needs == "layout"
    assert clean_page(laid_out, method="vce", options={}).decisions


def test_a_tree_that_was_not_parsed_from_bytes_is_not_sent():
    assert PageToClean.from_fetched(FetchedPage(URL, PAGE.encode(), parse(PAGE, URL), Metadata())) is None


def test_a_page_error_can_be_pickled():
    error = pickle.loads(pickle.dumps(PageError(PageFault.TOO_LARGE, "much too large")))
    assert (error.cause, str(error)) == (PageFault.TOO_LARGE, "much too large")


def test_a_clean_page_can_be_pickled(monkeypatch):
    for kind in (Block, Decision):  # undone at the end
        monkeypatch.setitem(dispatch_table, kind, None)
    prepare_worker()
    page = clean(PAGE, URL)
    assert dispatch_table[Block] is not None
    assert pickle.loads(pickle.dumps(page)) == page


def test_a_damaged_model_is_a_setup_error(monkeypatch, tmp_path):
    damaged = tmp_path / model.SHIPPED_MODEL.name
    damaged.write_bytes(model.SHIPPED_MODEL.read_bytes()[:-1])
    hash_file = f"{model.SHIPPED_MODEL.name}.sha256"
    (tmp_path / hash_file).write_text(model.SHIPPED_MODEL.with_name(hash_file).read_text("utf-8"), "utf-8")
    monkeypatch.setattr(model, "SHIPPED_MODEL", damaged)
    model.load_shipped_model.cache_clear()
    with pytest.raises(SetupError, match="is damaged: its SHA-256 is"):
        load_models()
