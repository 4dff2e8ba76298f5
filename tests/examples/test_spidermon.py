"""The example of docs/serve.md runs as it stands."""

from pathlib import Path

import pytest
from archive_crawl import crawl, save_pages

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "spidermon"
CAPTCHA = "<html><head><title>Are you a human?</title></head><body><div class='g-recaptcha'></div></body></html>"


@pytest.fixture
def monitored(tmp_path):
    """Crawl saved pages with the example's settings and these; return the finished process and Spidermon's lines."""

    def run(pages, *settings):
        finished = crawl(tmp_path, pages, *settings, PYTHONPATH=str(EXAMPLE), SCRAPY_SETTINGS_MODULE="watched")
        said = [line.split("[Spidermon] ", 1)[1] for line in finished.stderr.splitlines() if "[Spidermon] " in line]
        return finished, said

    return run


def test_a_good_crawl_passes(tmp_path, monitored):
    finished, said = monitored(save_pages(tmp_path / "pages", 50), "SUMMARY=-")
    assert finished.returncode == 0, finished.stderr
    assert [line for line in said if "..." in line] == [
        "Pages/test_stat_monitor... OK",
        "Refusals/Sites refused no more than REFUSED_SHARE_MAX of the visits... OK",
        "Finish Reason Monitor/Should have the expected finished reason(s)... OK",
        "Error Count Monitor/test_stat_monitor... SKIPPED (Unable to find 'log_count/ERROR' in job stats.)",
    ]
    assert '"exit_code": 0' in finished.stdout


def test_a_bad_crawl_is_told_by_each_monitor(tmp_path, monitored):
    refusals = {f"captcha-{n}.html": CAPTCHA for n in range(5)}
    finished, said = monitored(save_pages(tmp_path / "pages", 8, **refusals), "CLOSESPIDER_PAGECOUNT=13")
    assert [line for line in said if "... FAIL" in line] == [
        "Pages/test_stat_monitor... FAIL",
        "Refusals/Sites refused no more than REFUSED_SHARE_MAX of the visits... FAIL",
        "Finish Reason Monitor/Should have the expected finished reason(s)... FAIL",
    ]
    assert "Expecting 'visit/page' to be '>=' to '50.0'. Current value: '8.0'" in finished.stderr
    assert "FAILED (failures=3" in finished.stderr
