"""The corrections of a site as a page shows them."""

import pytest
import taught_site
from scrapy.settings import Settings

from crawler.config import Config
from crawler.editing.site import read_site_teaching
from crawler.errors import NotStoredError
from crawler.storage.database import opened_engine, write_transaction
from crawler.teaching import records


def test_corrected_pages_are_linked_if_they_are_stored(taught_url):
    config = Config.read(Settings())
    with opened_engine(taught_url()) as engine:
        with pytest.raises(NotStoredError, match=r"no page of courier\.example is corrected"):
            read_site_teaching(engine, "courier.example", config)
        with write_transaction(engine) as connection:
            for number in (1, 40):
                records.save_correction(connection, taught_site.corrected(number))
        teaching = read_site_teaching(engine, "courier.example", config)
    assert {link.page.url: link.page_id for link in teaching.corrected} == {
        taught_site.address(1): 2,
        taught_site.address(40): None,
    }
    assert (teaching.model.pages, teaching.preview.changed, teaching.taught.accepted) == (2, 8, None)
