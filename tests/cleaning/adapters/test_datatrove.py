"""The extractor step of datatrove."""

import gzip
import json

import pytest
import taught_site
from storm_page import PAGE, URL

from cleaning import OptionError, clean


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
    assert extractor(text_style="layout").extract(PAGE) == clean(PAGE).to_text(style="layout")
    with pytest.raises(OptionError, match="unknown option 'favor'"):
        extractor(favor="recall")


def test_an_extractor_cleans_by_the_models_of_sites():
    datatrove = pytest.importorskip("cleaning.adapters.datatrove")
    models = {"courier.example": taught_site.site_model()}
    page = taught_site.page_html(7)
    url = taught_site.address(7)
    offer = taught_site.offer(7)
    assert offer in datatrove.BlocksieveExtractor().extract(page, url)
    assert offer not in datatrove.BlocksieveExtractor(site_models=models).extract(page, url)
    with pytest.raises(OptionError, match="the method 'pab' takes no model of a site"):
        datatrove.BlocksieveExtractor("pab", site_models=models)
