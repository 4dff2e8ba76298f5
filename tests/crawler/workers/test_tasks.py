"""What a crawl's process loads for its tasks."""

import json

import pytest

from cleaning._native import load_compiled

SPIDER = """
    import sys
    import scrapy
    from crawler.page import page

    class Loaded(scrapy.Spider):
        name = "loaded"

        async def start(self):
            yield scrapy.Request(self.site + "/")

        def parse(self, response):
            yield page(response)

        def closed(self, reason):
            self.logger.warning("nltk is loaded: %s", "nltk" in sys.modules)
"""
PIPELINES = {
    "pipelines.clean.CleanPipeline": 300,
    "pipelines.dedup.DedupPipeline": 400,
    "pipelines.store.StorePipeline": 500,
    "collect.Collect": 600,
}


@pytest.fixture
def load(crawl, serve, spider, answer, tmp_path):
    """Crawl and store a page in a new process, with this value of BLOCKSIEVE_PURE."""

    def run(page, pure):
        site, _ = serve({"/": answer(body=page)})
        settings = {"ITEM_PIPELINES": json.dumps(PIPELINES), "DATABASE_URL": f"sqlite:///{tmp_path}/blocks.db"}
        # A process with BLOCKSIEVE_PURE in its environment is not forked from one that has imported more.
        return crawl(spider(SPIDER), {"site": site}, settings, environment={"BLOCKSIEVE_PURE": pure})

    return run


@pytest.mark.parametrize("pure", ["0", "1"])
def test_a_crawl_imports_nltk_only_without_the_compiled_core(load, article, pure):
    if pure == "0" and load_compiled("words") is None:
        pytest.skip("COMPILER: Blocksieve was installed without its compiled core")
    crawled = load(article, pure)
    assert crawled.stats["store/blocks_new"] > 0
    assert f"nltk is loaded: {pure == '1'}" in crawled.log
