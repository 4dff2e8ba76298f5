"""When a sitemap's lastmod is trusted."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest

from crawler.schedule import SitemapTrust, _is_trusted, lastmod_claims_change, trusted_claim

SEEN = datetime(2024, 3, 1, 12, tzinfo=UTC)
TRUSTED = SitemapTrust(9, 1)


@pytest.mark.parametrize(
    ("right", "wrong", "believed"), [(0, 0, False), (4, 0, False), (5, 0, True), (9, 1, True), (8, 1, False)]
)
def test_trust_takes_five_right_claims_and_nine_in_ten(right, wrong, believed):
    assert _is_trusted(SitemapTrust(right, wrong)) is believed


@pytest.mark.parametrize(
    ("lastmod", "said"),
    [
        (None, None),
        (SEEN + timedelta(seconds=1), True),
        (SEEN, False),
        (SEEN - timedelta(days=9), False),
        (datetime(2024, 3, 1, 12, 30), True),  # noqa: DTZ001 — without a zone, as sitemaps have them
        (datetime(2024, 3, 1, 12, 30, tzinfo=timezone(timedelta(hours=1))), False),
        (date(2024, 2, 29), False),
        (date(2024, 3, 1), None),
        (date(2024, 3, 2), True),
        (date(1970, 1, 1), False),
        (date(2099, 1, 1), True),
    ],
)
def test_the_claim_of_a_lastmod(lastmod, said):
    assert lastmod_claims_change(lastmod, SEEN) is said
    assert trusted_claim(TRUSTED, lastmod, SEEN) is said


def test_a_sitemap_without_trust_makes_no_claim():
    assert trusted_claim(SitemapTrust(4, 0), SEEN + timedelta(days=1), SEEN) is None


def test_announced_changes_that_are_found_build_trust():
    trust = SitemapTrust()
    for _ in range(5):
        assert not _is_trusted(trust)
        trust = trust.learned(True, changed=True)
    assert trust == SitemapTrust(5, 0)


def test_wrong_and_missing_claims():
    assert SitemapTrust().learned(True, changed=False) == SitemapTrust(0, 1)
    assert SitemapTrust().learned(False, changed=True) == SitemapTrust(0, 1)
    assert SitemapTrust().learned(False, changed=False) == SitemapTrust()
    assert SitemapTrust().learned(None, changed=True) == SitemapTrust()


def test_a_sitemap_that_breaks_soon_loses_its_trust():
    trust = SitemapTrust()
    for _ in range(5_000):
        trust = trust.learned(True, changed=True)
    for _ in range(12):
        trust = trust.learned(True, changed=False)
    assert not _is_trusted(trust)


def test_a_sitemap_that_dates_every_page_today_is_not_trusted():
    trust = SitemapTrust()
    for visit in range(200):
        trust = trust.learned(True, changed=visit % 2 == 0)
    assert not _is_trusted(trust)
