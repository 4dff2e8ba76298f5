"""A log file that cannot be opened is a sentence."""

import os

import pytest

from crawler.commands.crawl import check_log_file
from crawler.errors import ConfigError


def test_a_log_file_in_a_missing_folder_or_of_none_is_a_sentence(tmp_path):
    with pytest.raises(ConfigError, match=r"^LOG_FILE is '.*/logs/crawl.log', but there is no folder .*/logs; create"):
        check_log_file(str(tmp_path / "logs" / "crawl.log"))
    with pytest.raises(ConfigError, match="which is a folder"):
        check_log_file(str(tmp_path))


@pytest.mark.parametrize("file", [None, "", "/dev/null", os.devnull, "crawl.log"])
def test_a_log_file_that_can_be_opened_is_fine(tmp_path, monkeypatch, file):
    monkeypatch.chdir(tmp_path)
    check_log_file(file)


def test_a_crawl_and_a_recrawl_say_so_before_they_begin(scrapy, tmp_path):
    for command in (["crawl", "ezine"], ["recrawl", "--due"]):
        failed = scrapy(*command, "-s", "LOG_FILE=missing/crawl.log")
        assert failed.returncode == 2
        assert failed.stderr.endswith(f"but there is no folder {tmp_path}/missing; create it first\n")
        assert "Traceback" not in failed.stderr
