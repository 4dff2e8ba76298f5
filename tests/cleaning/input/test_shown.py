"""What a browser makes of elements is what a page's text and Markdown have."""

import pytest

from cleaning import clean

STORY = (
    "The harbour was closed for three days in early spring because the ice had damaged the outer breakwater. Divers "
    "found a crack of almost two metres below the water line, and the council stopped all traffic until it was mended."
)


def page_of(inner, tail=""):
    return clean(
        f"<title>Ice</title><body><main><article><h1>Ice</h1><p>{STORY}</p>{inner}<p>{STORY} It was cold.</p></article>"
        f"</main>{tail}",
        "https://a.example/ice",
    )


@pytest.mark.parametrize(
    ("html", "shown"),
    [
        ("she said <q>we can live with it</q> and left", "she said “we can live with it” and left"),
        ("er sagte <q>es <em>geht</em></q>, und ging", "er sagte “es geht”, und ging"),
        ("she said <q>he said <q>no</q></q> and left", "she said “he said ‘no’” and left"),
        ("she said “<q>yes</q>” and <q>«oui»</q> too", "she said “yes” and «oui» too"),
        ('the bags <img class="emoji" alt="🎨" src="/1f3a8.svg"> and flags', "the bags 🎨 and flags"),
        ('the flag <img alt="🏴‍☠️" src="/x.png"> was up', "the flag 🏴‍☠️ was up"),
        (
            'the bags <amp-img alt="🙂" src="/1f642.svg" layout="intrinsic"></amp-img> were full',
            "the bags 🙂 were full",
        ),
        ('they laughed <img class="wp-smiley" alt=":-)" src="/s.gif"> and left', "they laughed :-) and left"),
        ('the map <img alt="A map of the harbour" src="/m.png"> shows it', "the map shows it"),
        ('chapter <img alt="12" src="/12.png"> shows it', "chapter shows it"),
        ("昔、この町の兵は\n<ruby>\n<rb>短</rb>\n <rt>たん</rt>\n <rb>槍</rb>\n</ruby>\nを持っていた", None),
        ("昔、この町の兵は<ruby>短<rp>（</rp><rt>たん</rt><rp>）</rp> 槍 <rt>そう</rt></ruby>を持っていた", None),
    ],
)
def test_text_and_markdown_have_what_a_browser_shows(html, shown):
    page = page_of(f"<p>In the evening {html} until the morning came and the divers went home.</p>")
    shown = shown or "昔、この町の兵は短槍を持っていた"
    assert shown in page.text
    assert shown in " ".join(page.markdown.replace("*", "").split())


CODE = "let gauge = Gauge()\ngauge.open(port: 4)\nfor level in gauge.levels {\n    print(level.centimetres)\n}"
LINES = CODE.split("\n")
CRAYON = (
    '<div class="crayon-syntax"><div class="crayon-toolbar"><span>Swift</span></div><textarea>{code}</textarea>'
    '<table class="crayon-table"><tr><td class="crayon-nums"><div>{numbers}</div></td><td class="crayon-code">'
    '<div class="crayon-pre">{lines}</div></td></tr></table></div>'
)
HIGHLIGHTER = (
    '<div class="syntaxhighlighter swift"><table><tbody><tr><td class="gutter">{numbers}</td><td class="code">'
    '<div class="container">{lines}</div></td></tr></tbody></table></div>'
)
ROWS = '<div class="blob-wrapper"><table class="highlight"><tbody>{rows}</tbody></table></div>'


@pytest.mark.parametrize("markup", [CRAYON, HIGHLIGHTER, ROWS], ids=["Crayon", "SyntaxHighlighter", "rows"])
def test_a_table_of_numbered_lines_is_code(markup):
    html = markup.format(
        code=CODE,
        numbers="".join(f"<div>{number}</div>" for number in range(1, 6)),
        lines="".join(f"<div class=line><span>{line.replace('    ', '&nbsp;' * 4)}</span></div>" for line in LINES),
        rows="".join(
            f"<tr><td data-line-number={n}></td><td class=blob-code>{x}</td></tr>" for n, x in enumerate(LINES, 1)
        ),
    )
    page = page_of(f"<p>Create a file and put these lines into it, then run it once by hand, and wait.</p>{html}")
    assert f"\n{CODE}\n```" in page.markdown
    assert page.text.count("print(level.centimetres)") == 1


def test_a_table_of_ranks_is_a_table():
    rows = "".join(f"<tr><td>{number}</td><td>Ship {number}</td></tr>" for number in range(1, 5))
    page = page_of(f"<p>The fastest ships of the year, as the harbour master wrote them down:</p><table>{rows}</table>")
    assert "| 2 | Ship 2 |" in page.markdown


@pytest.mark.parametrize(
    "script",
    ['$RC("B:0","S:0")', '$RS("S:0","B:0")', '$RC=function(a,b){};$RC("B:0","S:0")', "other()"],
)
def test_a_streamed_part_stands_where_its_template_is(script):
    part = f'<div hidden id="S:0"><p>{STORY} The bell rang.</p></div>'
    page = page_of('<template id="B:0"></template><p>Loading</p>', f"{part}<script>{script}</script>")
    assert page.text.index("The bell rang.") < page.text.index("It was cold.")
    assert page.markdown.index("The bell rang.") < page.markdown.index("It was cold.")


def test_a_named_anchor_is_no_link():
    def scene(speaker, line):
        return (
            f"<A NAME=speech{line}><b>{speaker}</b></a><blockquote><A NAME={line}>{LINE} {line}.</A><br></blockquote>"
        )

    scenes = "".join(scene(speaker, line) for line, speaker in enumerate(["BERNARDO", "FRANCISCO", "MARCELLUS"] * 3))
    page = clean(f"<title>The Watch</title><body><h3>SCENE I. A quay.</h3>{scenes}</body>")
    assert "FRANCISCO" in page.text
    assert "links" not in page.counts()


LINE = "Who stands upon the mole so late at night, and lets the cold wind in that was to stay upon the sea"
