"""The download handlers of a crawl, and the setting ALLOW_ADDRESSES."""

import pytest
from scrapy.settings import Settings

from crawler import settings as settings_
from crawler.addon import Blocksieve
from crawler.config import Config
from crawler.errors import ConfigError
from crawler.fetching.addresses import Addresses
from crawler.fetching.network import HttpHandler

OURS = "crawler.fetching.network.HttpHandler"
BLIND = "scrapy.core.downloader.handlers.datauri.DataURIDownloadHandler"


def handlers(settings):
    Blocksieve().update_settings(settings)
    return dict(settings.getwithbase("DOWNLOAD_HANDLERS"))


def test_our_own_crawls_use_only_http():
    settings = Settings()
    settings.setmodule(settings_)
    others = dict.fromkeys(("data", "file", "ftp", "s3"), "crawler.fetching.network.SchemeHandler")
    assert handlers(settings) == {"http": OURS, "https": OURS} | others


def test_a_foreign_project_has_scrapy_s_handler_replaced_and_keeps_other_schemes():
    before = dict(Settings().getwithbase("DOWNLOAD_HANDLERS"))
    assert handlers(Settings()) == before | {"http": OURS, "https": OURS}


def test_a_handler_named_on_the_command_line_is_replaced_too():
    settings = Settings()
    settings.set("DOWNLOAD_HANDLERS", '{"ftp": null}', priority="cmdline")
    by_scheme = handlers(settings)
    assert (by_scheme["http"], by_scheme["ftp"]) == (OURS, None)


def test_a_project_s_own_handler_stays_and_is_named(caplog):
    by_scheme = handlers(Settings({"DOWNLOAD_HANDLERS": {"https": BLIND}}))
    assert (by_scheme["http"], by_scheme["https"]) == (OURS, BLIND)
    (warned,) = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert "DataURIDownloadHandler for https, which connects to any address: ALLOW_ADDRESSES does not apply" in warned


def test_our_own_handler_gives_no_warning(caplog):
    handlers(Settings({"DOWNLOAD_HANDLERS": {"https": HttpHandler, "http": None}}))
    assert "WARNING" not in {record.levelname for record in caplog.records}


def test_only_the_named_networks_are_allowed():
    settings = Settings({"ALLOW_ADDRESSES": "10.0.0.0/8, ::1"})
    addresses = Addresses.read(Config.read(settings).allow_addresses)
    assert [str(network) for network in addresses.allowed] == [
        "10.0.0.0/8",
        "::1/128",
    ]
    assert Addresses.read(Config.read(Settings()).allow_addresses).allowed == ()


@pytest.mark.parametrize("value", ["localhost", "10.0.0.1/8", "127.0.0.1:80"])
def test_an_invalid_network_stops_the_crawl(value):
    with pytest.raises(ConfigError, match=f"ALLOW_ADDRESSES is '{value}'; it takes networks and addresses with commas"):
        Config.read(Settings({"ALLOW_ADDRESSES": value}))
