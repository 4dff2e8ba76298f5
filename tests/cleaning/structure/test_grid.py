"""Tables as a grid of cells."""

from structures import markdown


def test_a_table_resolves_its_spans(read):
    document = read(
        "<table><caption>C</caption><tr><th>a<th colspan=2>b<tr><td rowspan=2>1<td>2<td>3<tr><td>4<td>5"
        "<tr><td colspan=3>all</table>"
    )
    assert markdown(document) == (
        "C\n\n| a | b | b |\n| --- | --- | --- |\n| 1 | 2 | 3 |\n| 1 | 4 | 5 |\n| all |  |  |"
    )


def test_a_table_stays_whole_if_some_of_its_cells_are_dropped(read):
    document = read("<table><tr><th>x<th>y<tr><td>1<td>2<tr><td>3<td>4</table>", drop=["1", "4"])
    assert markdown(document) == "| x | y |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |"


def test_a_table_whose_cells_are_nearly_all_dropped_gives_the_kept_texts(read):
    document = read("<table><tr><th>x<th>y<tr><td>1<td>2<tr><td>3<td>4</table>", drop=["x", "y", "2", "3", "4"])
    assert markdown(document) == "1"


def test_a_table_that_arranges_the_page_is_no_table(read):
    document = read("<table><tr><td><h2>Menu</h2>a<td><p>Text</p><table><tr><th>k<th>v<tr><td>1<td>2</table></table>")
    assert markdown(document) == "## Menu\n\na\n\nText\n\n| k | v |\n| --- | --- |\n| 1 | 2 |"


def test_the_picture_of_a_hook_is_the_text_of_its_cell(read):
    named, two = "<img src=/y.png width=16 alt=Yes>", "<img src='data:x' alt=No> 2"
    rows = f"<tr><th>what<th>has it<tr><td>One<td>{named}<tr><td>Two<td>{two}"
    assert markdown(read(f"<table>{rows}</table>")).splitlines()[2:] == ["| One | Yes |", "| Two | 2 |"]
