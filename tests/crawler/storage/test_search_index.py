"""The words of blocks and titles, by which search finds them."""

from crawler.storage.database import write_transaction
from crawler.storage.search_index import (
    _TOKENS_BYTES_MAX,
    TITLE_SEPARATOR,
    SearchableBlock,
    add_tokens,
    renew_search_index,
)

A = "https://a.example/1"
TOKENS = "SELECT * FROM block_tokens ORDER BY block_id"


def test_a_title_and_a_headline_with_the_same_words_are_searched_once():
    assert SearchableBlock.of_title(3, ("The mill", "the Mill")).text == "the Mill"
    assert SearchableBlock.of_title(3, ("The mill", "A mill")).text == f"The mill {TITLE_SEPARATOR} A mill"
    assert SearchableBlock.of_title(3, ("The mill", None)).block_id == -3
    assert SearchableBlock.of_title(3, (None, "* * *")) is None


def test_all_words_are_cut_anew_as_they_were_cut_with_the_blocks(save, visit, engine, rows):
    save(visit(A, "one bridge", "two bridges", title="Bridges", headline="Bridges of iron"))
    before = rows(TOKENS)
    progress = []
    with write_transaction(engine) as connection:
        renew_search_index(connection, progress.append)
    assert rows(TOKENS) == before
    assert progress == ["search index: 2 of 3 texts and titles", "search index: 3 of 3 texts and titles"]


def test_what_no_index_takes_is_cut(engine, rows):
    endless = " ".join(f"{'好' * 40}{n}x{'z' * 60}" for n in range(6_000))
    with write_transaction(engine) as connection:
        add_tokens(connection, [SearchableBlock(1, f"first {endless} last", 1.0), SearchableBlock(2, "x" * 3_000, 1.0)])
    endless_one, long_word = (row["tokens"] for row in rows("SELECT tokens FROM block_tokens ORDER BY block_id"))
    assert _TOKENS_BYTES_MAX - 200 < len(endless_one.encode()) <= _TOKENS_BYTES_MAX
    assert endless_one.startswith(" first ")
    assert long_word.split() == ["x" * 100] * 30
