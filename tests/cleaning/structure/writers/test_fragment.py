"""The HTML fragment: harmless tags, escaped text, absolute addresses."""

import pytest
from lxml import html

from cleaning.structure.writers.fragment import ATTRIBUTES, TAGS, to_html

ATTACKS = [
    "<p>a<script>alert(1)</script><img src=x onerror=alert(1)><svg onload=alert(1)></svg>b</p>",
    '<p><a href="javascript:alert(1)">a</a><a href=" data:text/html,<script>alert(1)</script>">b</a></p>',
    '<p>&lt;script&gt;alert(1)&lt;/script&gt; <b onclick=alert(1) style="background:url(https://evil.example)">x</b></p>',
    '<p><a href="https://a.example/&quot;onmouseover=&quot;alert(1)">q</a></p>',
    '<pre class="language-&quot;onload=x">a&lt;/code>&lt;script>alert(1)&lt;/script></pre>',
    '<p>a <img src="/i.png" alt="&quot;><script>alert(1)</script>"> b</p>',
    "<p>a <math><mi>&lt;/span>&lt;script>alert(1)&lt;/script></mi></math></p>",
    '<table><tr><th onclick=x>a<td colspan="9999999">b<tr><td>&lt;iframe><td>d</table>',
    '<p id="fn&quot;><script>">x</p><p><a href="#fn&quot;><script>">1</a></p>',
]


@pytest.mark.parametrize("attack", ATTACKS)
def test_only_harmless_tags_and_attributes_come_out(read, attack):
    fragment = to_html(read(attack), images=True)
    assert fragment
    for element in html.fragment_fromstring(fragment, create_parent="section").iterdescendants():
        assert element.tag in TAGS
        assert set(element.attrib) <= ATTRIBUTES
        for name in ("href", "src"):
            assert element.get(name, "https://").startswith(("https://", "http://", "#note-"))


def test_the_structure_is_in_the_tags(read):
    document = read(
        "<h2>T</h2><ol start=3><li>a<ul><li>b</ul></ol><table><caption>C<tr><th rowspan=2>x<td>1<tr><td>2</table>"
        '<pre><code class="language-go">f()\n</code></pre><dl><dt>k<dd>v</dl><blockquote>q</blockquote><p>x<br>y</p>'
    )
    assert to_html(document).splitlines() == [
        "<h2>T</h2>",
        '<ol start="3">',
        "<li><p>a</p><ul>",
        "<li>b</li>",
        "</ul></li>",
        "</ol>",
        "<table>",
        "<caption>C</caption>",
        '<tr><th rowspan="2">x</th><td>1</td></tr>',
        "<tr><td>2</td></tr>",
        "</table>",
        '<pre><code class="language-go">f()',
        "</code></pre>",
        "<dl><dt>k</dt><dd>v</dd></dl>",
        "<blockquote><p>q</p></blockquote>",
        "<p>x<br>y</p>",
    ]


def test_links_and_images_can_be_left_out(read):
    document = read('<p><a href="/y">l</a> <img src="/i.png" alt="i"></p>')
    assert to_html(document, links=False) == "<p>l </p>\n"
    assert 'href="https://a.example/y"' in to_html(document)
    assert '<img src="https://a.example/i.png" alt="i"' in to_html(document, images=True)
