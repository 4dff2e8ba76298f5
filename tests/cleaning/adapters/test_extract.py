"""A function with the arguments and answers of `trafilatura.extract`."""

import inspect
import json
import re
import subprocess
import sys

import pandas as pd
import pytest
import taught_site
import trafilatura
from storm_page import BINARY, CELL, EMPTY, LEAD, PAGE, URL

from cleaning import OptionError, clean
from cleaning.adapters import SPARK_SCHEMA, clean_frame, extract


def test_extract_cleans_by_the_model_of_a_site():
    page = taught_site.page_html(7)
    url = taught_site.address(7)
    offer = taught_site.offer(7)
    assert offer in extract(page, url)
    assert offer not in extract(page, url, site_model=taught_site.site_model())


def test_extract_gives_the_main_text():
    assert extract(PAGE) == extract(PAGE.encode(), url=URL) == clean(PAGE, comments=True).text
    assert LEAD in extract(PAGE)
    assert "Copyright" not in extract(PAGE)


@pytest.mark.parametrize("page", [EMPTY, "", BINARY], ids=["no text", "nothing", "binary"])
def test_a_page_without_main_text_gives_none(page):
    assert extract(page) is None


def test_a_page_that_is_not_asked_for_gives_none():
    assert extract(PAGE, target_language="de") is None
    assert extract(PAGE, target_language="en") == extract(PAGE)
    assert extract(PAGE, only_with_metadata=True) is None
    assert extract(PAGE, URL, only_with_metadata=True) == extract(PAGE)


def test_the_formats_are_those_of_a_cleaned_page():
    page = clean(PAGE, URL, comments=True)
    assert extract(PAGE, URL, output_format="markdown") == page.to_markdown(links=False)
    assert extract(PAGE, URL, include_formatting=True) == page.to_markdown(links=False)
    assert extract(PAGE, URL, text_style="layout") == page.to_text(style="layout")
    assert "](https://a.example/damage)" in extract(PAGE, URL, include_links=True)
    assert extract(PAGE, URL, output_format="html", include_links=True) == page.html
    assert json.loads(extract(PAGE, URL, output_format="json")) == {"text": page.text}
    record = json.loads(extract(PAGE, URL, output_format="json", with_metadata=True))
    assert (record["title"], record["date"], record["url"]) == ("Storm closes the harbour", "2026-03-01", URL)


def test_metadata_stands_before_the_text():
    head, text = extract(PAGE, URL, with_metadata=True).removeprefix("---\n").split("---\n")
    assert 'title: "Storm closes the harbour"\nauthor: "Ada Wren"\n' in head
    assert text == extract(PAGE)


def test_tables_are_left_out():
    assert CELL in extract(PAGE, favor_recall=True)
    for output_format in ("txt", "markdown", "html", "json"):
        text = extract(PAGE, output_format=output_format, include_tables=False, favor_recall=True)
        assert CELL not in text
        assert LEAD in text


def test_what_favours_precision_keeps_no_more_than_what_favours_recall():
    precise = extract(PAGE, favor_precision=True)
    complete = extract(PAGE, favor_recall=True)
    assert precise == clean(PAGE, favour="precision", comments=True).text
    assert complete == clean(PAGE, favour="recall", comments=True).text


def test_every_argument_of_trafilatura_is_taken_or_refused_by_name():
    for name, parameter in inspect.signature(trafilatura.extract).parameters.items():
        if name not in inspect.signature(extract).parameters:
            default = None if name == "config" else parameter.default
            assert extract(PAGE, **{name: default}) == extract(PAGE)
    with pytest.raises(OptionError, match=r"the option prune_xpath is '//nav'; Blocksieve has no counterpart"):
        extract(PAGE, prune_xpath="//nav")
    with pytest.raises(OptionError, match="no option include_coments; did you mean 'include_comments'"):
        extract(PAGE, include_coments=False)
    with pytest.raises(OptionError, match="the option output_format is 'xmltei'; it takes txt, markdown, html, json"):
        extract(PAGE, output_format="xmltei")


def test_the_functions_need_no_library_of_others():
    others = "datatrove pandas pyarrow pyspark ray trafilatura".split()
    program = f"import sys; import cleaning.adapters; print({others} & sys.modules.keys())".replace("[", "{").replace(
        "]", "}"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"


def test_sparks_schema_names_the_columns_of_a_frame():
    names = re.findall(r"(\w+) string", SPARK_SCHEMA)
    assert names == list(clean_frame(pd.Series([PAGE])).columns)


def test_the_shown_use_of_extract(run_example):
    names = run_example("import extract")
    assert names["text"] == clean(PAGE).text
    assert json.loads(names["record"])["title"] == "Storm closes the harbour"
