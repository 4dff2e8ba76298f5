"""The place of each kept block."""

from cleaning import BlockLink
from cleaning.structure.places import block_places


def test_each_block_has_its_place(read):
    document = read(
        "<h1>A</h1><p>one <a href='/y'>link</a></p><h2>B</h2><ol><li>x<ul><li>y</ul></ol>"
        "<table><tr><th>k<th>v<tr><td rowspan=2>1<td>2<tr><td>3</table>"
        "<pre><code class='language-go'>f()</code></pre><h2>C</h2><p>l1<br>l2</p>"
    )
    places = {place.position: place for place in block_places(document)}
    assert sorted(places) == list(range(14))
    assert [places[position].section for position in range(14)] == [None, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2, 0, 11, 11]
    assert [places[position].heading_level for position in (0, 1, 2, 11)] == [1, None, 2, 2]
    assert places[1].links == (BlockLink("https://a.example/y", "link"),)
    assert [(places[position].list_depth, places[position].item_number) for position in (3, 4, 5)] == [
        (1, 1),
        (2, None),
        (None, None),
    ]
    cells = [
        (places[position].table, places[position].row, places[position].column, places[position].header)
        for position in range(5, 10)
    ]
    assert cells == [(1, 1, 1, True), (1, 1, 2, True), (1, 2, 1, False), (1, 2, 2, False), (1, 3, 2, False)]
    assert places[10].code_language == "go"


def test_an_empty_document_has_no_places(read):
    assert block_places(read("")) == ()
