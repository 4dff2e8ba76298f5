"""Topics are found again, in their number, and the same each time."""

from collections import defaultdict

import pytest
from mined_documents import documents

from crawler.errors import MiningError
from crawler.mining import Document, cluster, count_terms


@pytest.fixture(scope="module")
def counts():
    return count_terms(documents())


def test_the_topics_are_the_clusters(counts):
    result = cluster(counts)
    assert max(result.silhouettes, key=result.silhouettes.get) == len(result.clusters) == 4
    sections = defaultdict(set)
    for member in result.members:
        sections[member.cluster].add(member.document.columns["section"])
    assert sorted(map(len, sections.values())) == [1, 1, 1, 1]
    assert [topic.size for topic in result.clusters] == [30, 30, 30, 30]
    assert any("ferry" in topic.terms for topic in result.clusters)
    assert all(topic.nearest[0].similarity >= topic.nearest[-1].similarity for topic in result.clusters)


def test_a_number_may_be_given(counts):
    assert len(cluster(counts, 2).clusters) == 2


def test_the_result_is_the_same_each_time(counts):
    assert cluster(counts) == cluster(counts)


def test_equal_documents_have_no_clusters():
    equal = [Document(number, "u", None, "storm quay", {}) for number in range(6)]
    with pytest.raises(MiningError, match="1 of 6 documents differ"):
        cluster(count_terms(equal, max_share=1))
    two = [Document(number, "u", None, "storm quay" if number % 2 else "rose spade", {}) for number in range(6)]
    assert [topic.size for topic in cluster(count_terms(two, max_share=1)).clusters] == [3, 3]


@pytest.mark.parametrize("clusters", [1, 0, 120])
def test_a_number_that_is_none_is_named(counts, clusters):
    with pytest.raises(MiningError, match=f"clusters is {clusters}; it takes a number from 2 to 119"):
        cluster(counts, clusters)


def test_too_few_documents():
    few = [Document(number, "u", None, "storm quay", {}) for number in range(3)]
    with pytest.raises(MiningError, match="3 documents have terms; clustering needs 4 or more"):
        cluster(count_terms(few, max_share=1))
