"""What a model of a site would change on its stored pages."""

import taught_site
from sqlalchemy import update

from cleaning.teaching import SiteModel
from cleaning.terms import count_words
from crawler.storage.database import write_transaction
from crawler.storage.tables import page
from crawler.teaching.preview import ModelChange, preview_site_model

SITE = "courier.example"


def test_the_pages_of_the_site_are_cleaned_with_and_without_it(taught_engine):
    reports = []
    model = taught_site.site_model()
    preview = preview_site_model(taught_engine, SITE, ModelChange(None, model), 60, lambda *done: reports.append(done))
    assert (preview.pages, preview.changed, preview.unlike, preview.other_methods, preview.unread) == (8, 8, 0, 1, 0)
    assert (preview.blocks_dropped, preview.blocks_kept) == (8, 0)
    assert preview.words_dropped == sum(count_words(taught_site.offer(number)) for number in range(8))
    assert preview.words_before > preview.words_dropped
    assert sorted(example.text for example in preview.examples) == sorted(map(taught_site.offer, range(8)))
    assert not any(example.keep for example in preview.examples)
    assert reports[-1] == (9, 9)


def test_it_is_shown_beside_the_model_in_use(taught_engine):
    model = taught_site.site_model()
    assert preview_site_model(taught_engine, SITE, ModelChange(model, model), 60).changed == 0
    back = preview_site_model(taught_engine, SITE, ModelChange(model, SiteModel()), 60)
    assert (back.blocks_kept, back.blocks_dropped, back.unlike) == (8, 0, 8)


def test_pages_without_html_and_an_unknown_site(taught_engine):
    with write_transaction(taught_engine) as connection:
        connection.execute(update(page).where(page.c.url == taught_site.address(1)).values(html=None))
    preview = preview_site_model(taught_engine, SITE, ModelChange(None, taught_site.site_model()), 60)
    assert (preview.pages, preview.unread) == (7, 1)
    assert (
        preview_site_model(taught_engine, "nowhere.example", ModelChange(None, taught_site.site_model()), 60).pages == 0
    )


def test_the_first_pages_of_a_large_site(taught_engine):
    preview = preview_site_model(taught_engine, SITE, ModelChange(None, taught_site.site_model()), 60, limit=3)
    assert (preview.pages, preview.total, preview.more) == (3, 9, True)
