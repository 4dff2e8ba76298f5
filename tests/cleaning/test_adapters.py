"""Our cleaning as other tools call it: `trafilatura.extract`, batches of columns, pandas and Spark, datatrove."""

import gzip
import inspect
import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import trafilatura
from documented import blocks
from warcs import write_warc

from cleaning import OptionError, clean
from cleaning.adapters import SPARK_SCHEMA, clean_batch, clean_frame, extract

URL = "https://a.example/storm"
LEAD = "The storm reached the harbour in the night, and the ferries to the islands stayed in port until Tuesday noon."
CELL = "a long cell of the table with a sentence about the wind"
PAGE = f"""<!DOCTYPE html><html lang="en"><head><title>Storm closes the harbour</title>
<meta name="author" content="Ada Wren"><meta property="article:published_time" content="2026-03-01"></head><body>
<nav><a href="/">Home</a> <a href="/news">News</a> <a href="/sport">Sport</a></nav>
<article><h1>Storm closes the harbour</h1><p>{LEAD}</p>
<p>Nobody was hurt, said the master of the port, but <a href="/damage">two piers are damaged</a> now.</p>
<table><tr><th>day</th><th>wind in knots, as the harbour's own station measured it</th></tr>
<tr><td>Monday</td><td>{CELL}</td></tr></table>
<p>The next storm is expected on Friday, and the port will close in time, as the master said in the morning.</p>
</article><footer>Copyright 2026 by the harbour</footer></body></html>"""
EMPTY = "<html><body></body></html>"
BINARY = b"%PDF-1.4\x00\x01"


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


def batch():
    return {"html": np.array([PAGE.encode(), EMPTY.encode(), BINARY], object), "url": np.array([URL] * 3, object)}


def test_a_batch_has_a_row_for_each_page_and_keeps_its_columns():
    columns = clean_batch(batch() | {"own": np.arange(3)}, markdown=True)
    assert list(columns) == [
        *("html", "url", "own", "text", "title", "author", "published", "language", "type", "error", "markdown")
    ]
    assert columns["own"].tolist() == [0, 1, 2]
    assert columns["text"].tolist() == [clean(PAGE, URL).text, "", ""]
    assert columns["markdown"][0] == clean(PAGE, URL).markdown
    page = clean(PAGE, URL)
    told = tuple(columns[name][0] for name in ("title", "published", "language", "type"))
    assert told == ("Storm closes the harbour", "2026-03-01", "en", page.type)
    assert columns["error"].tolist()[:2] == [None, None]
    assert "not a text format" in columns["error"][2]


def test_columns_of_a_batch_have_any_name():
    pages = {"page": [PAGE]}
    assert clean_batch(pages, html="page", url=None, method="pab")["text"].tolist() == [clean(PAGE, method="pab").text]
    with pytest.raises(OptionError, match="unknown option 'favor'"):
        clean_batch(pages, html="page", url=None, favor="recall")


def test_a_frame_has_the_index_of_its_pages():
    pages = pd.Series([PAGE, None, BINARY], index=[7, 3, 5])
    frame = clean_frame(pages, pd.Series([URL] * 3))
    assert frame.index.tolist() == [7, 3, 5]
    assert frame["text"].tolist() == [clean(PAGE, URL).text, "", ""]
    assert frame["error"][3] == "the page is NoneType, neither text nor bytes"
    assert clean_frame(pages.iloc[:0]).empty


def test_sparks_schema_names_the_columns_of_a_frame():
    names = re.findall(r"(\w+) string", SPARK_SCHEMA)
    assert names == list(clean_frame(pd.Series([PAGE])).columns)


@pytest.fixture
def run_example(tmp_path, monkeypatch):
    """Run the piece of Python that docs/adapters.md shows for a tool, beside three pages; return its names."""
    monkeypatch.chdir(tmp_path)
    rows = {"url": [URL, URL, URL], "html": [PAGE.encode(), EMPTY.encode(), PAGE.encode()]}
    pd.DataFrame(rows).to_parquet("pages.parquet")
    (tmp_path / "archives").mkdir()
    write_warc(tmp_path / "archives/a.warc.gz", [(f"{URL}/{number}", html) for number, html in enumerate(rows["html"])])

    def run(word):
        (piece,) = (example for example in blocks("python", "adapters.md") if word in example.text)
        names = {"__name__": "__main__", "html": PAGE}
        exec(piece.text, names)
        return names

    return run


TEXTS = [clean(PAGE, URL).text, "", clean(PAGE, URL).text]


def test_the_shown_use_of_extract(run_example):
    names = run_example("import extract")
    assert names["text"] == clean(PAGE).text
    assert json.loads(names["record"])["title"] == "Storm closes the harbour"


def test_the_shown_use_of_pandas(run_example):
    assert run_example("pages.join")["cleaned"]["text"].tolist() == TEXTS


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # datatrove forks a process
def test_the_shown_pipeline_of_datatrove(run_example, tmp_path):
    pytest.importorskip("magic", reason="libmagic is not installed", exc_type=ImportError)
    extractor = run_example("LocalPipelineExecutor")["BlocksieveExtractor"]
    with gzip.open(tmp_path / "texts/00000.jsonl.gz", "rt", encoding="utf-8") as file:
        written = [json.loads(line) for line in file]
    assert [record["text"] for record in written] == [clean(PAGE, favour="precision").text] * 2
    assert [record["metadata"]["url"] for record in written] == [f"{URL}/0", f"{URL}/2"]
    assert extractor(markdown=True).extract(PAGE) == clean(PAGE).markdown
    with pytest.raises(OptionError, match="unknown option 'favor'"):
        extractor(favor="recall")


@pytest.mark.program
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Ray's own
def test_the_shown_pipeline_of_ray_data(run_example, tmp_path):
    import ray  # noqa: PLC0415 — it takes seconds

    ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False)
    try:
        run_example('read_parquet("pages.parquet")\npages.map_batches')
    finally:
        ray.shutdown()
    frame = pd.read_parquet(tmp_path / "ray")
    assert sorted(frame["text"]) == sorted(TEXTS)
    assert set(frame["markdown"]) == {"", clean(PAGE, URL).markdown}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Spark's own
@pytest.mark.usefixtures("spark")
def test_the_shown_function_of_spark(run_example, tmp_path):
    run_example("pandas_udf")
    assert sorted(pd.read_parquet(tmp_path / "spark")["text"]) == sorted(TEXTS)
