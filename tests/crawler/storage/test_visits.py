"""What visits change, decided without a database: from what a batch has read, here of an empty one."""

from datetime import timedelta
from itertools import count

import pytest

from crawler.storage.addresses import PageAddresses
from crawler.storage.blocks import BlockState, StoredDuplicates
from crawler.storage.crawls import CrawlPolicy
from crawler.storage.headlines import MetadataChanges
from crawler.storage.locks import NotReadError
from crawler.storage.near_duplicates import MAX_DISTANCE, DuplicateRules, NearFingerprints, NearIndex, NearPages
from crawler.storage.pages import PageSource, page_record
from crawler.storage.sections import SectionRows
from crawler.storage.state import AddressRows, PageRows, State
from crawler.storage.visits import PagePresence, PageState, VisitDecisions, wants_of
from crawler.urls import url_key
from crawler.visit import Outcome, Visit

A, B = "https://lake.example.org/a", "https://lake.example.org/b"
FERRY, STORM = "The ferryman of the lake", "A storm before the ice had gone"


def index_of(fingerprints):
    return NearIndex(dict.fromkeys(fingerprints, ()), frozenset(), {}, {}, NearFingerprints(MAX_DISTANCE))


@pytest.fixture
def decide():
    """Decide about visits as one batch of an empty database; return the state and the results."""

    def make(*visits, unread=()):
        rules, policy = DuplicateRules(), CrawlPolicy()
        source = PageSource(1, "scheme", policy.revisits)
        pairs = [(visit, page_record(visit, source)) for visit in visits]
        wants = wants_of(pairs, [], may_retire=False)
        keys = (wants.keys | wants.contents) - set(map(url_key, unread))
        texts = [block for shown in wants.shown for block in shown.blocks]
        duplicates = StoredDuplicates(
            index_of({block.fingerprint for block in texts}),
            within_site=False,
            same={(block.digest, None): [] for block in texts},
        )
        state = State(
            pages=PageRows([], keys, count(1)),
            blocks=BlockState({}, duplicates, count(1), count(1), rules),
            near=NearPages(index_of({shown.fingerprint for shown in wants.shown}), rules),
            addresses=AddressRows({}, {}, keys),
            sections=SectionRows([], keys),
            metadata=MetadataChanges({}),
            doubted=set(),
            boilerplate={},
        )
        addresses = PageAddresses(state, alone=True)
        decisions = VisitDecisions(
            state, addresses, policy, None, PagePresence(), absences=[], alone=True, keep_html=False
        )
        return state, [decisions.save(visit, record) for visit, record in pairs]

    return make


def test_a_visit_sees_the_blocks_of_an_earlier_one_of_its_batch(decide, visit):
    state, (first, second) = decide(visit(A, FERRY, STORM), visit(B, FERRY, day=1))
    assert (first.state, first.stored) == (PageState.NEW, 2)
    assert (second.state, second.stored, second.exact) == (PageState.NEW, 0, 1)
    (row,) = state.blocks.of_page(second.page_id)
    assert row.is_sighting
    assert row.original.block_id == next(iter(state.blocks.of_page(first.page_id))).row_id


def test_a_page_that_is_visited_twice_in_a_batch_is_one_page(decide, visit):
    state, (first, second) = decide(visit(A, FERRY), visit(A, FERRY, STORM, day=1))
    assert (second.state, second.page_id, second.refreshed, second.stored) == (PageState.CHANGED, first.page_id, 1, 1)
    assert state.pages.find(url_key(A)).history.visits == 2


def test_a_page_that_is_gone_shows_nothing_and_is_no_original(decide, visit):
    page = visit(A, FERRY, fingerprint=7)
    gone = Visit(A, page.at + timedelta(days=1), Outcome.NOT_FOUND, 410)
    state, (first, second, third) = decide(page, gone, visit(B, FERRY, day=2, fingerprint=7))
    assert (second.state, second.gone) == (PageState.RETIRED, 1)
    assert state.blocks.live(first.page_id) == []
    assert third.near_duplicate_pages == 0


def test_what_was_not_read_is_asked_for(decide, visit):
    with pytest.raises(NotReadError, match="was not read"):
        decide(visit(A, FERRY), unread=[A])
