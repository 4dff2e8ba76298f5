"""Originals and what repeats them."""

import pytest

from crawler.errors import StoreError
from crawler.storage.database import read_transaction
from crawler.storage.queries import (
    BlockGroupMember,
    GroupSummary,
    PageGroupMember,
    largest_block_groups,
    largest_page_groups,
    read_block_group,
    read_page_group,
)

A, B, C, D = (f"https://{letter}.example/1" for letter in "abcd")


@pytest.fixture
def stored(save, visit, candidate):
    pages = {
        A: [candidate(0, "it costs ten", fingerprint=0), "equal words"],
        B: [candidate(0, "it costs twenty", fingerprint=3), "equal words", "more"],
        C: [candidate(0, "it costs ten", fingerprint=0)],
        D: ["alone"],
    }
    marks = {A: 0, B: 1, C: 6, D: 2**40 - 1}
    save(*(visit(url, *texts, title=f"at {url}", fingerprint=marks[url]) for url, texts in pages.items()))


@pytest.fixture
def ask(stored, engine):
    def run(question, *arguments):
        with read_transaction(engine) as connection:
            return question(connection, *arguments)

    return run


def test_the_largest_families_come_first(ask, save, visit):
    save(visit("https://a.example/2", "equal words"))
    assert ask(largest_block_groups) == [GroupSummary(1, 2, A, "it costs ten"), GroupSummary(2, 2, A, "equal words")]
    assert ask(largest_block_groups, 1) == [GroupSummary(1, 2, A, "it costs ten")]
    assert [summary.text for summary in ask(largest_block_groups, 9, 3)] == ["it costs ten"]
    assert ask(largest_page_groups) == [GroupSummary(None, 2, A, f"at {A}")]


def test_a_block_s_family_has_every_text_and_distance(ask):
    family = ask(read_block_group, 1)
    assert (family.block_id, family.size) == (1, 2)
    assert family.original == BlockGroupMember(A, "a.example", 0, "it costs ten", gone=False, boilerplate=False)
    assert family.sightings == [
        BlockGroupMember(B, "b.example", 2, "it costs twenty", gone=False, boilerplate=False),
        BlockGroupMember(C, "c.example", 0, "it costs ten", gone=False, boilerplate=False),
    ]


def test_what_is_gone_from_its_page_is_said_to_be(ask, save, visit):
    save(visit(B, day=1), visit(A, day=1))
    family = ask(read_block_group, 1)
    assert (family.original.gone, [member.gone for member in family.sightings]) == (True, [True, False])


def test_what_is_template_is_said_to_be(ask, engine):
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "UPDATE document_frequency SET boilerplate_since = '2024-05-01' WHERE site = 'c.example'"
        )
    family = ask(read_block_group, 1)
    assert (family.original.boilerplate, [member.boilerplate for member in family.sightings]) == (False, [False, True])


@pytest.mark.parametrize("address", [A, B])
def test_a_page_s_family_is_the_same_from_each_of_its_pages(ask, address):
    family = ask(read_page_group, address)
    assert (family.url, family.site, family.size) == (A, "a.example", 2)
    assert family.members == [
        PageGroupMember(B, "b.example", 1, ["it costs ten"], ["it costs twenty", "more"]),
        PageGroupMember(C, "c.example", 2, ["equal words"], []),
    ]


def test_a_page_without_mirrors_is_a_family_of_one(ask):
    assert ask(read_page_group, D).members == []


def test_what_is_not_there_is_named(ask):
    with pytest.raises(StoreError, match="there is no block 99"):
        ask(read_block_group, 99)
    with pytest.raises(StoreError, match=r"there is no page https://e\.example/"):
        ask(read_page_group, "https://me:secret@e.example/")
