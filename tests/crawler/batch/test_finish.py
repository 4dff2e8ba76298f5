"""The tables that a finished job leaves, as readers of Parquet see them."""

import duckdb
import pandas as pd
import polars as pl
import pytest
from batch_jobs import SHARED, rows

pytestmark = pytest.mark.slow


def test_each_kept_block_is_a_block_or_a_sighting(finished):
    summary, out = finished
    blocks = rows(out, "blocks")
    sightings = rows(out, "sightings")
    assert len(blocks) + len(sightings) == sum(page["blocks"] for page in rows(out, "pages"))
    assert summary.counts["stored/exact"] + summary.counts["stored/near"] == len(sightings)
    ids = {block["id"] for block in blocks}
    assert all(sighting["block_id"] in ids and sighting["block_id"] < sighting["id"] for sighting in sightings)
    assert all(sighting["distance"] <= 3 for sighting in sightings)
    assert [block["text"] for block in blocks].count(SHARED[1]) == 1


def test_a_table_is_read_by_its_folder(finished):
    _, out = finished
    for table in ("pages", "blocks", "sightings"):
        expected = [(row["id"], row["url"], row["first_seen"]) for row in rows(out, table)]
        frame = pd.read_parquet(out / table)[["id", "url", "first_seen"]]
        assert list(frame.itertuples(index=False, name=None)) == expected
        assert pl.read_parquet(out / table).select("id", "url", "first_seen").rows() == expected
        with duckdb.connect() as database:
            query = f"SELECT id, url, first_seen FROM '{out / table}/*.parquet' ORDER BY id"
            assert database.execute(query).fetchall() == expected
