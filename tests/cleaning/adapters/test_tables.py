"""Tables of pages: batches of columns, pandas, Ray Data and Spark."""

import pickle

import numpy as np
import pandas as pd
import pytest
import taught_site
from storm_page import BINARY, EMPTY, PAGE, URL

from cleaning import OptionError, clean
from cleaning.adapters import clean_batch, clean_frame
from cleaning.teaching import read_site_models
from cleaning.teaching.site_model import write_site_models


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
    assert clean_batch(batch(), text_style="layout")["text"][0] == clean(PAGE, URL).to_text(style="layout")
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


def taught_pages():
    """Two pages of a taught site, and one of another site."""
    texts = [taught_site.page_html(number) for number in (7, 8, 9)]
    return pd.DataFrame({"html": texts, "url": [taught_site.address(7), taught_site.address(8), URL]})


def test_pages_are_cleaned_by_the_models_of_their_sites():
    pages = taught_pages()
    models = read_site_models(write_site_models({"courier.example": taught_site.site_model()}))
    plain = clean_frame(pages["html"], pages["url"])["text"]
    taught = clean_frame(pages["html"], pages["url"], site_models=models)["text"]
    assert [taught_site.offer(number) in text for number, text in zip((7, 8, 9), plain, strict=True)] == [True] * 3
    assert [taught_site.offer(number) in text for number, text in zip((7, 8, 9), taught, strict=True)] == [0, 0, 1]
    # Ray sends the models to its workers.
    sent = pickle.loads(pickle.dumps(models))
    assert clean_batch(pages, site_models=sent)["text"].tolist() == taught.tolist()
    with pytest.raises(OptionError, match="the method 'pab' takes no model of a site"):
        clean_batch(pages, method="pab", site_models=models)


def test_a_frame_has_the_index_of_its_pages():
    pages = pd.Series([PAGE, None, BINARY], index=[7, 3, 5])
    frame = clean_frame(pages, pd.Series([URL] * 3))
    assert frame.index.tolist() == [7, 3, 5]
    assert frame["text"].tolist() == [clean(PAGE, URL).text, "", ""]
    assert frame["error"][3] == "the page is NoneType, neither text nor bytes"
    assert clean_frame(pages.iloc[:0]).empty


TEXTS = [clean(PAGE, URL).text, "", clean(PAGE, URL).text]


def test_the_shown_use_of_pandas(run_example):
    assert run_example("pages.join")["cleaned"]["text"].tolist() == TEXTS


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
