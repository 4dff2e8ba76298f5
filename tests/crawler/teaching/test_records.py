"""Corrections and the models of sites in both databases."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
import taught_site

from cleaning.teaching import SiteModel
from crawler.storage.database import read_transaction, write_transaction
from crawler.storage.prune import PruneSelection, prune_pages
from crawler.teaching import records

NOW = datetime(2026, 5, 2, tzinfo=UTC)
SITE = "courier.example"


def test_the_last_correction_of_an_address_is_kept(taught_engine):
    page = taught_site.corrected(1)
    with write_transaction(taught_engine) as connection:
        records.save_correction(connection, taught_site.draft(1).page)
        records.save_correction(connection, replace(page, url=f"{page.url}#top"))
        records.save_correction(connection, taught_site.corrected(2))
    with read_transaction(taught_engine) as connection:
        assert [stored.marked for stored in records.read_corrections(connection, SITE)] == [1, 1]
        assert records.read_correction(connection, page.url).blocks == rounded(page)
        assert records.read_corrections(connection, "other.example") == []
        assert len(records.read_corrections(connection)) == 2
        (taught,) = records.read_taught_sites(connection)
        assert (taught.site, taught.pages, taught.marks, taught.accepted) == (SITE, 2, 2, None)
        assert taught.is_pending
    with write_transaction(taught_engine) as connection:
        assert records.delete_correction(connection, page.url)
        assert not records.delete_correction(connection, page.url)


def rounded(page):
    return tuple(replace(block, score=round(block.score, 4)) for block in page.blocks)


def test_a_model_is_accepted_and_withdrawn(taught_engine):
    model = taught_site.site_model()
    with write_transaction(taught_engine) as connection:
        records.save_correction(connection, taught_site.corrected(1))
        records.accept_site_model(connection, SITE, SiteModel(), "anna", NOW)
        records.accept_site_model(connection, SITE, model, "ben", NOW)
    with read_transaction(taught_engine) as connection:
        assert records.read_site_model(connection, SITE) == model.to_json()
        assert records.read_site_model(connection, "other.example") is None
        assert list(records.read_site_models(connection)) == [SITE]
        (taught,) = records.read_taught_sites(connection, [SITE, "other.example"])
        assert (taught.learned_pages, taught.accepted, taught.reader) == (2, NOW, "ben")
        assert not taught.is_pending
        assert records.read_taught_sites(connection, ["other.example"]) == []
    with write_transaction(taught_engine) as connection:
        assert records.withdraw_site_model(connection, SITE)
        assert not records.withdraw_site_model(connection, SITE)
        assert len(records.read_corrections(connection)) == 1


@pytest.mark.parametrize(
    ("selection", "left"),
    [
        (PruneSelection.of(site=SITE), (0, 0)),
        (PruneSelection.of(url=taught_site.address(1)), (1, 1)),
        (PruneSelection.of(site="other.example"), (2, 1)),
    ],
)
def test_what_is_pruned_takes_its_corrections_with_it(taught_engine, selection, left):
    with write_transaction(taught_engine) as connection:
        for number in (1, 2):
            records.save_correction(connection, taught_site.corrected(number))
        records.accept_site_model(connection, SITE, taught_site.site_model(), "anna", NOW)
    prune_pages(taught_engine, selection)
    with read_transaction(taught_engine) as connection:
        assert (len(records.read_corrections(connection)), len(records.read_site_models(connection))) == left
