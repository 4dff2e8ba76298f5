"""Figures that change while the page is open."""

import http.client
import json


def test_live_figures_are_events(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    connection.request("GET", "/live")
    answer = connection.getresponse()
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    assert answer.readline() == b"event: crawls\n"
    (crawl,) = json.loads(answer.readline().removeprefix(b"data: "))
    assert crawl["queued"] == 3
    connection.close()
