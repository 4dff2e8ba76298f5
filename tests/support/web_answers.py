"""What tests ask of the web page for a database, and what every answer owes."""

import re
from urllib.parse import urlencode

from lxml import html as lxml_html

from crawler.web.routes import make_views

VIEWS = make_views()
_ADDRESSES = {"site": "example.org", "page": 1, "block": 1, "original": "example.net", "other": 2, "crawl": 1}
_UNSAFE = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"


def path_of(view, **values):
    """Return the path of a view, of the first page, block and site where it needs one."""
    return view.path.format(**(_ADDRESSES | values))


def page_id(ask, url):
    """Return the number of the page at an address."""
    answer = ask(f"/page?{urlencode({'url': url})}")
    assert answer.status == 303
    return int(answer.headers["Location"].rpartition("/")[2])


def check_inert(answer):
    """Check that a page has no script but ours, no handler, no foreign address that acts, and no control character."""
    policy = answer.headers["Content-Security-Policy"]
    nonce = re.search(r"script-src 'nonce-([\w-]{20,})';", policy)[1]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    root = lxml_html.document_fromstring(answer.body)
    assert [(element.get("nonce"), element.text) for element in root.iter("script")] == [(nonce, None)]
    for element in root.iter():
        names = set(element.attrib)
        assert not {name for name in names if name.startswith("on")} | names & {"style", "srcdoc", "formaction"}
        assert element.tag not in {"style", "object", "embed", "base"}
        assert element.tag != "img" or element.get("src").startswith("/static/")
        for name in names & {"href", "src", "action"}:
            assert element.get(name).startswith(("/", "#", "http://", "https://")), element.get(name)
    assert all(element.get("sandbox") == "" for element in root.iter("iframe"))
    assert not re.search(_UNSAFE, answer.text)
    assert "49" not in root.findtext(".//h1")
    assert "secret-1234" not in answer.text
