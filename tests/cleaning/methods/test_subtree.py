"""Satisfiable sub-trees: the paper's fragment, and pages of its four portals (subtree.txt)."""

import csv
import gzip
import re

import pytest
from cpu_time import cpu_growth
from hypothesis import given
from hypothesis import strategies as st
from lxml import html

from cleaning import Reason, clean, parse
from cleaning.leaves import body_of, walk
from cleaning.methods.subtree import _find_maximal, _find_satisfiable, _measure_lengths
from cleaning.options import Options
from cleaning.segments import leaf_pieces

# The example of section 3.2.
FRAGMENT = """
<title>News title</title>
<body>
  <h2>News title</h2>
  <div>
    <p><b>Paragraph one</b>
    <p align = "center"><img src = "Imgpath"/>
    <p>Paragraph two
    <p><a href = "Infopath">Related Info</a>
  </div>
  <div>
    <a href = "link1">Link1</a>
    <a href = "link2">Link2</a>
    <a href = "link3">Link3</a>
  </div>
</body>
"""
BODY, N1, N2 = "/html/body", "/html/body/div[1]", "/html/body/div[1]/p[1]"
B, THIRD, FOURTH, SECOND_DIV = f"{N2}/b", f"{N1}/p[3]", f"{N1}/p[4]", "/html/body/div[2]"
MAIN = ["Paragraph one", "Paragraph two", "Related Info"]
ROWS = [
    ((2, 11, 13, 0.4), [N2, N1], [N1], MAIN),
    ((2, 10, 13, 0.4), [N2, N1], [N1], MAIN),
    ((2, 10, 13, 0.45), [BODY, N2, N1], [BODY], ["News title", *MAIN, "Link1 Link2 Link3"]),
    ((2, 13, 13, 0.31), [N2], [N2], ["Paragraph one"]),
    ((2, 13, 14, 0.4), [N1], [N1], MAIN),
    ((1, 11, 13, 0.4), [B, THIRD], [B, THIRD], ["Paragraph one", "Paragraph two"]),
    ((2, 40, 100, 0.3), [], [], []),
]
LONG = "The quick brown fox jumps over the lazy dog, and the cat on the warm stove looks at it. " * 2
LINK = '<a href="/a">a link of this site</a>'
TAGS = st.sampled_from(["div", "td", "p", "b", "i", "span", "a", "br", "table", "li", "pre"])
TREES = st.recursive(
    st.sampled_from(["x", "y z", " ", "Fox, dog.", "A text of more than a few letters."]),
    lambda inner: st.builds(lambda tag, parts: f"<{tag}>{''.join(parts)}</{tag}>", TAGS, st.lists(inner, max_size=4)),
    max_leaves=20,
)


class Trees:
    """The sub-trees of a page by the paths of their roots."""

    def __init__(self, page, **options):
        root = parse(page).root
        pieces = [text.piece for text in leaf_pieces(walk(root))]
        start = body_of(root)
        path = root.getroottree().getpath
        satisfiable = _find_satisfiable(start, pieces, Options.read(options))
        self.lengths = {path(element): lengths for element, lengths in _measure_lengths(start, pieces).items()}
        self.sst = [path(element) for element in satisfiable]
        self.sst_max = list(dict.fromkeys(map(path, _find_maximal(start, satisfiable).values())))


def thresholds(generations, alpha, beta, gamma):
    return {
        "subtree_generations": generations,
        "subtree_alpha": alpha,
        "subtree_beta": beta,
        "subtree_gamma": gamma,
    }


def cleaned(page, **options):
    return clean(page, method="subtree", **options)


def kept(page, **options):
    return [block.text for block in cleaned(page, **options).kept]


@pytest.mark.parametrize(
    ("root", "text", "anchor"),
    [(BODY, 63, 27), (N1, 38, 12), (N2, 13, 0), (FOURTH, 12, 12), (SECOND_DIV, 15, 15)],
)
def test_lengths_of_the_papers_sub_trees(root, text, anchor):
    assert Trees(FRAGMENT).lengths[root] == (text, anchor)


@pytest.mark.parametrize(("values", "sst", "sst_max", "_"), ROWS)
def test_satisfiable_and_maximal_sub_trees_of_the_paper(values, sst, sst_max, _):
    trees = Trees(FRAGMENT, **thresholds(*values))
    assert (trees.sst, trees.sst_max) == (sst, sst_max)


@pytest.mark.parametrize(("values", "_", "__", "text"), ROWS)
def test_text_of_the_papers_maximal_sub_trees(values, _, __, text):
    assert kept(FRAGMENT, **thresholds(*values)) == text


def test_outer_sub_tree_takes_the_inner_one_in():
    page = cleaned(FRAGMENT, **thresholds(2, 11, 13, 0.4))
    assert page.kept[0].path == N2
    assert page.text == "Paragraph one\nParagraph two\nRelated Info"


def test_title_comes_from_the_title_tag():
    page = cleaned(FRAGMENT, **thresholds(2, 11, 13, 0.4))
    assert page.title == "News title"
    assert "News title" not in page.text


def test_rest_is_outside():
    page = cleaned(FRAGMENT, **thresholds(2, 11, 13, 0.4))
    assert {decision.block.text: decision.reason for decision in page.decisions if not decision.kept} == {
        "News title": Reason.OUTSIDE,
        "Link1 Link2 Link3": Reason.OUTSIDE,
    }


def test_score_is_the_share_outside_links():
    page = cleaned(FRAGMENT, **thresholds(2, 11, 13, 0.4))
    assert [decision.score for decision in page.decisions] == [0.0, 1.0, 1.0, 0.0, 0.0]
    decision = cleaned(f"<div><p>{LONG}<a href='/a'>12345</a></p></div>").decisions[0]
    assert decision.score == pytest.approx(len(LONG.strip()) / (len(LONG.strip()) + 5))


def test_paragraph_with_inline_tags_is_one_block():
    assert kept(f"<div><p>{LONG} <b>very</b> <i>well</i></p></div>") == [f"{LONG}very well"]


def test_text_is_cut_where_a_sub_tree_ends():
    page = f"<div>x <span><b>{LONG}</b> y</span> z</div>"
    assert [(decision.block.text, decision.kept) for decision in cleaned(page).decisions] == [
        ("x", False),
        (f"{LONG}y", True),
        ("z", False),
    ]


def test_length_is_that_of_one_trimmed_text():
    halves = f"<div><p>{'x' * 39}<br>{'x' * 39}<br>{'x' * 39}</p></div>"
    assert kept(halves) == []
    assert kept(halves.replace("x" * 39, f" {'x' * 38}  ", 1)) == []
    assert kept(halves.replace("x" * 39, "x" * 40, 1)) != []


def test_characters_are_counted_not_bytes():
    assert kept(f"<div><p>{'狐' * 100}</p></div>") == ["狐" * 100]
    assert kept(f"<div><p>{'狐' * 99}</p></div>") == []


def test_share_of_links_that_is_exact_is_allowed():
    page = f'<div><p>{"x" * 71}<a href="/a">{"y" * 29}</a></p></div>'
    assert kept(page, subtree_gamma=0.29) != []
    assert kept(page, subtree_gamma=0.28) == []


def test_any_text_inside_a_link_is_link_text():
    assert kept(f'<div><a href="/a"><b>{LONG}</b></a></div>', subtree_generations=3) == []


def test_links_around_a_text_make_its_sub_tree_noise():
    assert kept(f"<div><p>{LONG}</p>{LINK * 20}</div>") == []
    assert kept(f"<div><p>{LONG}</p>{LINK}</div>") == [LONG.strip(), "a link of this site"]


def test_climb_stops_at_the_body():
    assert Trees(f"<p>{LONG}</p>", subtree_generations=100).sst == [BODY]


def test_short_texts_around_the_main_one_are_kept_with_it():
    assert kept(f"<div><h2>One</h2><p>{LONG}</p><p>Two</p></div>") == ["One", LONG.strip(), "Two"]


def test_several_sub_trees_are_kept_in_reading_order():
    page = f"<div><p>{LONG}1</p></div><div>{LINK * 50}</div><div><p>{LONG}2</p></div>"
    assert kept(page) == [f"{LONG}1", f"{LONG}2"]


@pytest.mark.parametrize("page", ["", "<p></p>", f"<script>{LONG}</script>", f"<!-- {LONG} --><style>{LONG}</style>"])
def test_page_without_text_keeps_nothing(page):
    assert cleaned(page, subtree_alpha=0, subtree_beta=0).decisions == ()


def test_thresholds_of_nothing_keep_all_but_links():
    assert kept(f"<div>x{LINK}</div>", subtree_alpha=0, subtree_beta=0, subtree_gamma=1.0) == ["xa link of this site"]


def test_tree_is_not_edited():
    root = parse(FRAGMENT).root
    before = html.tostring(root)
    clean(root, method="subtree")
    assert html.tostring(root) == before


@given(TREES, st.integers(1, 4), st.integers(0, 30), st.integers(0, 40), st.floats(0, 1))
def test_every_letter_is_in_one_block(page, generations, alpha, beta, gamma):
    whole_page = cleaned(page, **thresholds(generations, alpha, beta, gamma))
    whole = "".join(leaf.block.text for leaf in walk(parse(page).root))
    letters = "".join(decision.block.text for decision in whole_page.decisions)
    assert "".join(letters.split()) == "".join(whole.split())
    assert {decision.reason for decision in whole_page.decisions} <= {Reason.KEPT, Reason.OUTSIDE}


@given(TREES)
def test_lengths_are_the_sums_of_each_sub_tree(page):
    root = parse(page).root
    pieces = [text.piece for text in leaf_pieces(walk(root))]
    for element, lengths in _measure_lengths(body_of(root), pieces).items():
        inside = [piece for piece in pieces if element in {piece.element, *piece.element.iterancestors()}]
        assert lengths.text == sum(len(piece.text.strip()) for piece in inside)
        assert lengths.anchor == sum(len(piece.text.strip()) for piece in inside if piece.link is not None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "page"),
    [
        (10_000, lambda count: f"<div><p>{LONG}</p></div>" * count),
        (2_000, lambda count: f"<div>{LONG}" * count),
        (50_000, lambda count: "x<br>" * count + f"<p>{LONG}"),
        (10_000, lambda count: f"<b>{LONG}" * (count // 5) + LINK * count),
    ],
    ids=["siblings", "levels", "breaks", "inline levels"],
)
@pytest.mark.parametrize("generations", [2, 100])
def test_time_of_large_and_deep_pages_grows_with_their_size(count, page, generations):
    small = page(count // 8)
    large = page(count)
    assert cpu_growth(lambda html: cleaned(html, subtree_generations=generations), small, large) < 20


# Site, file, how the article begins and ends. Some are in GB2312, some have no `p`.
ARTICLES = [
    ("163", "00", "据美媒纽约邮报报道", "在美华人应得权利仍显不足"),
    ("163", "08", "华为已经预告", "文中张严为化名"),
    ("163", "20", "高速公路超前发展有必要", "占通行费收入的比例有高有低"),
    ("163", "26", "周三晚间，证监会", "或许才能起到好的作用"),
    ("qq", "00", "划重点", "第三方数据行业的整顿仍将持续"),
    ("qq", "03", "熟悉 Golang 的同学都知道", "确保始终增加一条日期数据"),
    ("qq", "05", "今日俄罗斯评价称", "强制要求戴口罩等措施"),
    ("qq", "07", "7月29日上午，在第95个", "节日的祝福和诚挚的问候"),
    ("sina", "04", "你们将开始明白", "健身运动的公园"),
    ("sina", "09", "用户对性能永无止境的追求", "已超过10亿美元"),
    ("sina", "10", "拿出10万元来做房产投资", "定期获得信息交流"),
    ("sina", "12", "据央视新闻消息", "三十余人旁听了庭审"),
    ("sohu", "02", "他是一个影响卓著的", "然后退出转到别的方向"),
    ("sohu", "03", "刚刚结束的号称世界第三", "正在悄悄的进行"),
    ("sohu", "05", "2020年11月18日上午11点半", "经历了一次折叠"),
    ("sohu", "06", "伴随着国务院", "先于西方解决这一全球性难题"),
]
HUBS = [("163", "03"), ("163", "16"), ("163", "17"), ("qq", "04"), ("sina", "00"), ("sina", "03"), ("sohu", "07")]


def portal(data, site, number):
    """Return a portal's page, cleaned."""
    folder = data / "sites"
    with (folder / "index.tsv").open(encoding="utf-8") as lines:
        rows = {(row["site"], row["file"]): row for row in csv.DictReader(lines, delimiter="\t")}
    url = rows[site, f"{number}.html.gz"]["url"]
    return cleaned(gzip.decompress((folder / site / f"{number}.html.gz").read_bytes()), url=url or None)


@pytest.mark.parametrize(("site", "number", "beginning", "end"), ARTICLES)
def test_article_of_a_portal_is_kept_from_beginning_to_end(data, site, number, beginning, end):
    page = portal(data, site, number)
    assert 0 <= page.text.find(beginning) < page.text.find(end)
    assert page.text.find(beginning) < 300
    rest = page.text[page.text.find(end) + len(end) :]
    assert len(rest) < 150  # notes on the source, and who edited it


@pytest.mark.parametrize(("site", "number"), [(site, number) for site, number, *_ in ARTICLES])
def test_menus_of_a_portal_are_outside(data, site, number):
    page = portal(data, site, number)
    outside = [decision.block for decision in page.decisions if decision.reason is Reason.OUTSIDE]
    linked = sum(block.link_words for block in page.kept) / sum(block.words for block in page.kept)
    assert sum(block.words for block in outside) > 50
    assert linked < 0.05
    assert len(re.findall("[\u4e00-\u9fff]", page.text)) > 0.2 * len(page.text)  # one shows code


@pytest.mark.parametrize(("site", "number"), HUBS)
def test_page_of_links_keeps_nothing(data, site, number):
    page = portal(data, site, number)
    assert page.text == ""
    assert len(page.decisions) > 100
