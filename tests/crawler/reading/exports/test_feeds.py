"""CSV feeds of crawls are for spreadsheets too: no text of the web is a formula in them."""

import csv
import json

import pytest

from crawler.settings import ITEM_PIPELINES

PAGE = "<html lang=en><title>{0}</title><article><h1>{0}</h1><p>{0} is what the river cost the town in that year.</p>"
FORMULAS = ["=cmd|'/C calc'!A0", "-2+3+cmd", "@SUM(1+1)", "+1+1", "＝HYPERLINK(1)"]


@pytest.mark.slow
def test_a_csv_feed_has_no_formula(crawl, tmp_path):
    (tmp_path / "pages").mkdir()
    for number, formula in enumerate(FORMULAS):
        (tmp_path / "pages" / f"{number}.html").write_text(PAGE.format(formula), "utf-8")
    settings = {
        "DATABASE_URL": f"sqlite:///{tmp_path}/blocks.db",
        "FEEDS": json.dumps({str(tmp_path / "pages.csv"): {"format": "csv"}}),
        "ITEM_PIPELINES": json.dumps(ITEM_PIPELINES),
        "REPLAY": tmp_path / "pages",
    }
    assert crawl("archive", settings=settings).code == 0
    with (tmp_path / "pages.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert sorted(row["title"] for row in rows) == sorted(f"'{formula}" for formula in FORMULAS)
    assert all(row["text"].startswith("'") for row in rows)
    assert not any(cell.startswith(("=", "+", "-", "@", "＝")) for row in rows for cell in row.values())
