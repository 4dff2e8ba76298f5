"""States of scripts: JSON, JavaScript literals, and the forms in which frameworks write them."""

import json

import pytest

from cleaning import parse
from cleaning.embedded.script_state import read_states


def states(source):
    return list(read_states(parse(f"<body>{source}").root))


FLIGHT = (
    '<script>self.__next_f.push([1,"0:[\\"$\\",\\"p\\",null,{\\"children\\":\\"one"])</script>'
    '<script>self.__next_f.push([1," two\\"}]\\n1:\\"$2\\"\\n2:T5,a\\nb:c3:I[4]\\n"])</script>'
)
WRITTEN = {
    "JSON": ('<script type="application/json">{"a": "b"}</script>', {"a": "b"}),
    "an assignment": ('<script>var x = 1;\nwindow.__INITIAL_STATE__ = {"a": "b"}; f();</script>', {"a": "b"}),
    "a name in brackets": ('<script>window["__APOLLO_STATE__"]={"a": "b"}</script>', {"a": "b"}),
    "a variable": ('<script>const pageData = {a: "b"}</script>', {"a": "b"}),
    "a literal": (
        "<script>__NUXT__ = {a: 'b', 'c-d': `e`, f: !0, g: void 0, h: [1, -2, null,], i: new Date(1, [2]), //\n j: {}}",
        {"a": "b", "c-d": "e", "f": None, "g": None, "h": [0, 0, None], "i": None, "j": {}},
    ),
    "escapes": (r"<script>__A__ = {a: '\x3Cp\u003E \ud83d\ude00 \'\n\/'}</script>", {"a": "<p> \U0001f600 '\n/"}),
    "text that is parsed": ('<script>window.__STATE__ = JSON.parse(\'{"a": "b"}\')</script>', {"a": "b"}),
    "a function of Nuxt": (
        '<script>window.__NUXT__=(function(a,b){return {data:[{title:a,n:b,c:"d"}]}}("T",{e:1}));</script>',
        {"data": [{"title": "T", "n": {"e": 0}, "c": "d"}]},
    ),
    "rows of server components, in parts": (
        FLIGHT,
        [{"type": "p", "children": "one two"}, "a\nb:c", None, None],
    ),
    "places in a list": (
        '<script type="application/json" id="__NUXT_DATA__">[["Reactive",1],{"a":2,"c":3},"b",[2,9]]</script>',
        [{"a": "b", "c": ["b", None]}],
    ),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_state_is_read_as_it_is_written(name):
    source, expected = WRITTEN[name]
    assert states(source) == [expected]


@pytest.mark.parametrize(
    "source",
    [
        '<script type=\'application/ld+json\'>{"a": "b"}</script>',
        "<script type='text/template'>window.__STATE__ = {a: 1}</script>",
        "<script>x = {a: 'b'}; if (y.__z__ == {}) {}</script>",
        "<script>window.__STATE__ = {a: 'b</script>",
        "<script>window.__STATE__ = f(function() { return {}; }</script>",
        "<script>window.__STATE__ = 'text'</script>",
        "<script type='application/json'>{\"a\": </script>",
    ],
)
def test_another_script_has_no_state(source):
    assert states(source) == []


def test_a_place_that_names_itself_ends():
    state = json.dumps([["Reactive", 1], {"a": 1, "b": 2}, "c"])
    [[entry]] = states(f'<script type="application/json" id="__NUXT_DATA__">{state}</script>')
    assert entry["b"] == "c"
