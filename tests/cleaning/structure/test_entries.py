"""Chunks of API pages: a signature with its description, under the function's name, with its anchor."""

import pytest

from cleaning import clean

PROSE = (
    "The request is sent at once, and the answer is read into memory before the function returns to its caller. " * 2
)
HEAD = f"<h1>Interface</h1><p>All of the functionality of the library can be reached by these functions. {PROSE}</p>"
SPHINX = (
    '<dl class="py function"><dt class="sig sig-object py" id="lib.get"><span>lib.</span><span>get</span>(<em>url</em>)'
    '<a href="src.html#get">[source]</a><a class="headerlink" href="#lib.get">¶</a></dt><dd>{}</dd></dl>'
)
PAGES = {
    "sphinx": (SPHINX, "lib.get", "lib.get", "lib.get(*url*)\n"),
    "sphinx 1": (
        (
            '<dl class="function"><dt id="lib.get"><tt>lib.</tt><tt>get</tt>(<em>url</em>)'
            '<a class="headerlink" href="#lib.get">¶</a></dt><dd>{}</dd></dl>'
        ),
        "lib.get",
        "lib.get",
        "(*url*)\n",
    ),
    "a method": (
        (
            '<dl class="py class"><dt class="sig" id="lib.S"><em>class</em> lib.<span>S</span></dt><dd><p>'
            f'{PROSE}</p><dl class="py method"><dt class="sig" id="lib.S.get">get(<em>url</em>)</dt>'
            "<dd>{}</dd></dl></dd></dl>"
        ),
        "get",
        "lib.S.get",
        "get(*url*)\n",
    ),
    "mkdocstrings": (
        (
            '<div class="doc doc-object doc-function"><h2 id="lib.get" class="doc doc-heading"><span>get</span>'
            '<a href="#lib.get" class="headerlink">¶</a></h2><div class="doc-signature highlight"><pre><code>get(url)'
            '</code></pre></div><div class="doc doc-contents">{}</div></div>'
        ),
        "get",
        "lib.get",
        "```\nget(url)\n```",
    ),
    "rustdoc": (
        (
            '<h2 id="impl">Implementations</h2><details open><summary><section id="method.get" class="method">'
            '<a href="#method.get" class="anchor">§</a><h4 class="code-header">pub fn <a>get</a>(url: Url)</h4>'
            '</section></summary><div class="docblock">{}</div></details>'
        ),
        "pub fn get(url: Url)",
        "method.get",
        "pub fn get(url: Url)",
    ),
    "javadoc": (
        (
            '<h2>Methods</h2><ul><li><section class="detail" id="get(URL)"><h3>get</h3><div class="member-signature">'
            '<span>Answer</span> <span>get</span>(URL url)</div><div class="block">{}</div></section></li></ul>'
        ),
        "get",
        "get(URL)",
        "Answer get(URL url)",
    ),
    "doxygen": (
        (
            '<a id="a1b2" name="a1b2"></a><h2 class="memtitle"><span><a href="#a1b2">◆&nbsp;</a></span>'
            'get()</h2><div class="memitem"><div class="memproto"><table class="memname"><tr><td>int get</td>'
            '<td>(</td><td class="paramtype">char *</td><td><em>url</em></td><td>)</td></tr></table></div>'
            '<div class="memdoc">{}</div></div>'
        ),
        "get()",
        "a1b2",
        "int get",
    ),
}


def chunks(body):
    return clean(f"<html lang=en><title>API</title><main>{HEAD}{body}</main>", "https://docs.example.org/api").chunks(
        90
    )


@pytest.mark.parametrize("generator", PAGES)
def test_a_signature_stands_with_its_description_name_and_anchor(generator):
    entry, name, anchor, signature = PAGES[generator]
    (chunk,) = [found for found in chunks(entry.format(f"<p>Sends a GET. {PROSE}</p>")) if "Sends a GET" in found.text]
    assert (chunk.headings[-1], chunk.anchor) == (name, anchor)
    assert signature in chunk.text
    assert "¶" not in chunk.text
    assert "[source" not in chunk.text


def test_what_follows_an_entry_is_not_part_of_it():
    following = f"<p>After the functions. {PROSE}</p><h2 id='more'>More</h2><p>At the end. {PROSE}</p>"
    found = chunks(SPHINX.format(f"<p>{PROSE}</p>") + following)
    assert [(chunk.headings, chunk.anchor) for chunk in found if "After the" in chunk.text] == [
        (found[0].headings, None)
    ]
    assert [(chunk.headings[-1], chunk.anchor) for chunk in found if "At the end" in chunk.text] == [("More", "more")]


def test_words_of_a_glossary_share_a_chunk():
    words = "".join(f'<dt id="term-{word}">{word}</dt><dd>{PROSE[:107]}</dd>' for word in ("lease", "queue"))
    found = chunks(f'<h2 id="words">Words</h2><dl class="simple glossary">{words}</dl>')
    assert [("lease" in chunk.text, "queue" in chunk.text) for chunk in found if "lease" in chunk.text] == [
        (True, True)
    ]
