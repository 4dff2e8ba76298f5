"""The delays of hosts that the frontier learns from the downloader."""

import pytest
from scrapy import Request
from scrapy.core.downloader import Slot
from scrapy.http.request import NO_CALLBACK

from crawler.frontier.scheduler import DownloadSlots


class Engine:
    """What the view looks at of a crawl: slots made by hand, of Scrapy's own kind."""

    def __init__(self, **slots):
        self.engine = self.downloader = self
        self.slots = slots


def slot(delay, callback):
    new_slot = Slot(concurrency=2, delay=delay, jitter=0)
    new_slot.transferring.add(Request("http://a.example/", callback=callback))
    return new_slot


@pytest.mark.parametrize(
    ("delay", "callback", "told"), [(0.5, NO_CALLBACK, 0.5), (0.0, None, 0.0), (0.0, NO_CALLBACK, None)]
)
def test_a_delay_of_0_is_reported_only_after_robots_txt(delay, callback, told):
    assert DownloadSlots(Engine(host=slot(delay, callback))).delays().get("host") == told


def test_a_reported_delay_stays_while_nothing_is_in_progress():
    engine = Engine(host=slot(0.0, None))
    slots = DownloadSlots(engine)
    assert slots.delays() == {"host": 0.0}
    engine.slots["host"].transferring.clear()
    assert slots.delays() == {"host": 0.0}
    engine.slots.clear()
    assert slots.delays() == {}
