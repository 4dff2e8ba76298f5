"""Nodes built of the pieces of a page: headings, lists, code and quotes."""

import pytest
from structures import markdown

from cleaning.structure.nodes import NodeType


def test_headings_keep_their_levels_without_permalinks(read):
    document = read('<h1>Top <a href="#top">#</a></h1><h3>Low¶</h3><p>Part # 4</p><h2>Part #</h2>')
    assert markdown(document) == "# Top\n\n### Low\n\nPart # 4\n\n## Part \\#"


def test_lists_nest_and_keep_their_numbers(read):
    document = read("<ol start=3><li>c<ul><li>d<ul><li>e</ul></ul><li>f</ol>")
    assert markdown(document) == "3. c\n   - d\n     - e\n4. f"


def test_a_list_begins_with_the_number_of_its_first_kept_item(read):
    assert markdown(read("<ol><li>a<li>b<li>c</ol>", drop=["a"])) == "2. b\n3. c"


def test_a_list_of_posts_is_no_list(read):
    document = read("<ul><li><h2>One</h2><p>text</p><li><h2>Two</h2><p>more</p></ul>")
    assert markdown(document) == "## One\n\ntext\n\n## Two\n\nmore"


def test_items_with_several_blocks_are_apart(read):
    document = read("<ul><li><p>a</p><pre>x = 1</pre><li>b</ul>")
    assert markdown(document) == "- a\n\n  ```\n  x = 1\n  ```\n\n- b"


def test_a_definition_list_has_its_terms_in_bold(read):
    document = read("<dl><dt>T<dt>U<dd>one<dd>two<dt>V<dd>three</dl>")
    assert markdown(document) == "- **T**  \n  **U**\n\n  one\n\n  two\n\n- **V**\n\n  three"


def test_code_keeps_its_lines_and_its_language(read):
    document = read('<div class="highlight-python"><pre><span>def</span> f():\n\n    return `1`\n</pre></div>')
    assert markdown(document) == "```python\ndef f():\n\n    return `1`\n```"


@pytest.mark.parametrize(
    ("markup", "language"),
    [
        ('<pre><code class="hljs language-rust">x</code></pre>', "rust"),
        ('<pre class="brush: sql; gutter: false">x</pre>', "sql"),
        ('<pre class="prettyprint lang-c++">x</pre>', "c++"),
        ('<div class="highlight highlight-source-shell"><pre>x</pre></div>', "shell"),
        ('<pre data-lang="go">x</pre>', "go"),
        ('<pre class="sourceCode haskell">x</pre>', "haskell"),
        ('<pre class="notranslate">x</pre>', ""),
        ("<pre>x</pre>", ""),
    ],
)
def test_code_has_the_language_that_the_page_names(read, markup, language):
    (node,) = read(markup).content
    assert (node.type, node.language) == (NodeType.CODE, language)


def test_code_has_no_line_numbers_and_no_buttons(read):
    document = read(
        '<table><tr><td class="gutter"><pre>1\n2</pre><td class="code">'
        "<pre><button>Copy</button><div>a</div><div>  b</div></pre></table>"
    )
    assert markdown(document) == "```\na\n  b\n```"


def test_blank_lines_of_code_in_spans_stay(read):
    assert markdown(read("<pre><span>a\n</span>\n<span>b</span><br><br>c</pre>")) == "```\na\n\nb\n\nc\n```"


def test_an_invalid_list_is_a_list(read):
    assert markdown(read("<li>a</li><li>b</li><p>c</p>")) == "- a\n- b\n\nc"
    assert markdown(read("<ul>a<li>b</li><ul><li>c</li></ul></ul>")) == "- a\n- b\n  - c"


def test_deep_nesting_is_bounded(read):
    document = read("<ul><li>x" * 500)
    assert max(len(line) - len(line.lstrip()) for line in markdown(document).splitlines()) < 40
    assert markdown(document).count("x") == 500


def test_quotes_in_quotes_of_forums_nest(read):
    inner = "<blockquote><div><cite>Bob wrote:</cite><p>inner</p></div></blockquote>"
    document = read(f"<blockquote><div><cite>Ada wrote:</cite>{inner}outer</div></blockquote><p>reply</p>")
    assert markdown(document) == "> *Ada wrote:*\n>\n> > *Bob wrote:*\n> >\n> > inner\n>\n> outer\n\nreply"
