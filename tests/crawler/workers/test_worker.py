"""A page cleaned in a worker: the same as from its tree in the crawl."""

from dataclasses import replace

import msgspec
import pytest

from cleaning import METHODS, CleanPage, Metadata, ParseWarning, clean, parse
from cleaning.classifier import shipped
from cleaning.layout import Box, Layout
from cleaning.metadata import languages
from cleaning.page_fingerprint import Fingerprinter
from cleaning.parse import decode
from crawler.errors import SetupError
from crawler.visit import FetchedPage, PageStructure, UnparsedPage
from crawler.workers.tasks import CleanTask, FingerprintTask, PageToClean, SentFingerprint, SentPage, load_models

URL = "https://town.example.org/library"
PROSE = "The town library — café, tables, lamps — opens again on Monday after two years of repairs. " * 3
PAGE = f"<html><head><title>Library</title></head><body><h1>Library</h1><p>{PROSE}</p><p>Menu</p></body></html>"


def cleaned(page, method="default", **options):
    return CleanTask((method,), Fingerprinter(), 1.0, options).work(page).cleaned


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
    assert cleaned(PageToClean.from_fetched(page)) == clean(page.tree)


@pytest.mark.parametrize("body", [PAGE.encode(), PAGE.encode("cp1252"), ("<div>" * 3000 + PAGE).encode(), b"<!-- -->"])
def test_a_page_that_the_crawl_has_not_parsed_is_cleaned_to_the_same(body):
    parsed = fetched(body, "text/html; charset=utf-8")
    decoded = decode(body, "text/html; charset=utf-8", URL)
    source = UnparsedPage(body, URL, "text/html; charset=utf-8", decoded.encoding, decoded.parse_warnings)
    page = FetchedPage(URL, body, source, Metadata())
    assert cleaned(PageToClean.from_fetched(page)) == clean(parsed.tree)
    assert not source.is_parsed
    assert clean(page.tree) == clean(parsed.tree)
    assert source.is_parsed
    assert page.tree is page.tree


def test_a_page_has_the_keys_that_the_crawl_would_give_it():
    fingerprinter = Fingerprinter(weighting="plain", min_terms=5)
    body = PAGE.replace("<p>Menu", f"<p>{PROSE}<p>{PROSE} Now.").encode()
    sent = there_and_back(
        CleanTask(("pab",), fingerprinter, 1.0).work(PageToClean.from_fetched(fetched(body))), SentPage
    )
    assert sent.fingerprinted == fingerprinter.fingerprint(sent.cleaned.decisions)
    assert any(block.repeats is not None and block.fingerprint for block in sent.fingerprinted.blocks)


def test_the_task_has_the_method_and_the_options():
    page = fetched(PAGE.encode())
    assert cleaned(PageToClean.from_fetched(page), "pab", max_blocks=100) == clean(
        page.tree, method="pab", max_blocks=100
    )


def test_the_page_s_own_method_wins():
    page = fetched(PAGE.encode(), method="tags")
    assert cleaned(PageToClean.from_fetched(page), "pab") == clean(page.tree, method="tags")


def test_a_layout_is_sent_with_the_page():
    page = fetched(PAGE.encode())
    tags = tuple(element.tag for element in page.tree.root.iter())
    layout = Layout(tags, tuple(Box(0, 10 * place, 100, 10, 16.0) for place in range(len(tags))))
    sent = PageToClean.from_fetched(fetched(PAGE.encode()))
    laid_out = PageToClean(sent.body, sent.url, sent.encoding, layout=layout)
    assert METHODS["vce"].needs == "layout"
    assert cleaned(laid_out, "vce").decisions


def test_a_tree_that_was_not_parsed_from_bytes_is_not_sent():
    assert PageToClean.from_fetched(FetchedPage(URL, PAGE.encode(), parse(PAGE, URL), Metadata())) is None


def test_what_is_sent_arrives_as_it_was():
    layout = Layout(("html", "p"), (None, Box(0, 10, 100, 10, 16.0, "red")))
    page = PageToClean(b"\xff\x00", None, "utf-8", (ParseWarning.EMPTY,), layout, frozenset({0, 2**64 - 1}), "ce")
    assert there_and_back(page, PageToClean) == page
    cleaned = clean(PAGE, URL)
    assert there_and_back(cleaned.detached(structure=False), CleanPage) == cleaned
    arrived = there_and_back(cleaned.detached(structure=True), CleanPage)
    assert arrived == cleaned
    assert arrived.structure == cleaned.structure
    assert arrived.markdown == cleaned.markdown != ""
    again = replace(PageToClean.from_fetched(fetched(PAGE.encode())), method="default", options={"max_blocks": 500})
    assert there_and_back(again, PageToClean) == again
    keys = FingerprintTask(("default",), Fingerprinter(), 1.0).work(again)
    assert keys.page_fingerprint.blocks
    assert keys.structure is None
    assert there_and_back(keys, SentFingerprint) == keys


def test_the_structure_is_sent_only_with_the_setting():
    page = fetched(PAGE.encode())
    with_structure, without_structure = (
        replace(PageToClean.from_fetched(page, structure=has_structure), method="default")
        for has_structure in (True, False)
    )
    structure = PageStructure.of(clean(page.tree))
    assert structure.markdown
    for work in (CleanTask(("default",), Fingerprinter(), 1.0), FingerprintTask(("default",), Fingerprinter(), 1.0)):
        assert work.work(without_structure).structure is None
        assert there_and_back(work.work(with_structure), work.result_type).structure == structure


def there_and_back(value, kind):
    return msgspec.msgpack.decode(msgspec.msgpack.encode(value), type=kind)


def test_a_damaged_model_is_a_setup_error(monkeypatch, tmp_path):
    damaged = tmp_path / shipped.SHIPPED_MODEL.name
    damaged.write_bytes(shipped.SHIPPED_MODEL.read_bytes()[:-1])
    monkeypatch.setattr(shipped, "SHIPPED_MODEL", damaged)
    shipped.load_shipped_model.cache_clear()
    with pytest.raises(SetupError, match="is damaged: its SHA-256 is"):
        load_models()


def test_a_missing_language_model_is_a_setup_error(monkeypatch):
    monkeypatch.setattr(languages, "_MODEL_FILE", "resources/other.ftz")
    languages.load_language_model.cache_clear()
    with pytest.raises(SetupError, match=r"the language model cannot be read: .*other\.ftz"):
        load_models()
