"""`scrapy import` on the command line."""

import pytest


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "FOLDER is missing: name the folder that `scrapy batch --out` has written"),
        (["none"], "'none' holds no finished batch job; run `scrapy batch` with --out none first"),
    ],
)
def test_a_mistake_is_one_sentence(scrapy, arguments, message):
    failed = scrapy("import", *arguments)
    assert failed.returncode in {1, 2}
    assert message in failed.stderr + failed.stdout
    assert "Traceback" not in failed.stderr
