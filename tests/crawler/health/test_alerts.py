"""Alerts reach a webhook and a command; what fails is said, and is tried again by the next crawl."""

import json
import logging
import shlex
import sys
import threading
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from scrapy.settings import Settings

from crawler.config import Config
from crawler.config.explanation import explain_setting
from crawler.errors import ConfigError
from crawler.health import alerts, records
from crawler.health.conditions import Condition, Finding
from crawler.storage.database import read_transaction, write_transaction

NOW = datetime(2024, 5, 20, tzinfo=UTC)
BEGUN = Finding(Condition.VANISHED, holds=True, sentence="20 of 30 pages were not found")


class Webhook:
    """A server that answers POST requests with the given statuses, the last one again and again."""

    def __init__(self):
        self.statuses, self.received = [200], []
        webhook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                webhook.received.append((self.path, self.headers["Content-Type"], json.loads(body)))
                self.send_response(webhook.statuses.pop(0) if len(webhook.statuses) > 1 else webhook.statuses[0])
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_arguments):
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_port}/services/T0P-S3CRET"

    def close(self):
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def webhook():
    webhook = Webhook()
    yield webhook
    webhook.close()


@pytest.fixture
def begun(engine):
    with write_transaction(engine) as connection:
        records.record_findings(connection, {"a.example": [BEGUN]}, NOW)


@pytest.fixture
def no_pause(monkeypatch):
    monkeypatch.setattr(alerts, "_PAUSE_SECONDS", 0.0)


def test_a_webhook_gets_each_condition_once(url, begun, webhook):
    config = Config(database_url=url, alert_webhook=webhook.url)
    assert alerts._send_alerts(config) == alerts.Delivery(1)
    assert alerts._send_alerts(config) == alerts.Delivery(0)
    ((path, kind, body),) = webhook.received
    assert (path, kind, body["version"]) == ("/services/T0P-S3CRET", "application/json", 1)
    assert body["text"] == "a.example: vanished since 2024-05-20 00:00 UTC: 20 of 30 pages were not found"
    assert body["alerts"] == [
        {
            "site": "a.example",
            "condition": "vanished",
            "state": "begun",
            "since": "2024-05-20T00:00:00+00:00",
            "ended": None,
            "sentence": BEGUN.sentence,
        }
    ]
    assert "postgres@" not in body["database"] or "***" in body["database"] or ":" in body["database"]


@pytest.mark.usefixtures("begun", "no_pause")
def test_a_webhook_that_fails_for_a_moment_is_tried_again(url, webhook):
    webhook.statuses = [503, 429, 200]
    assert alerts._send_alerts(Config(database_url=url, alert_webhook=webhook.url)) == alerts.Delivery(1)
    assert len(webhook.received) == 3


@pytest.mark.usefixtures("begun", "no_pause")
def test_a_webhook_that_fails_is_said_without_its_secret_and_the_next_crawl_tells(url, webhook, caplog):
    webhook.statuses = [404]
    config = Config(database_url=url, alert_webhook=webhook.url)
    with caplog.at_level(logging.ERROR):
        result = alerts._send_alerts(config)
    assert result.sent == 0
    assert result.failures == (
        "ALERT_WEBHOOK at http://127.0.0.1 got no alert after 1 attempts: it answered with status 404",
    )
    assert "the next crawl tries again" in caplog.text
    assert "S3CRET" not in caplog.text
    webhook.statuses = [200]
    assert alerts._send_alerts(config) == alerts.Delivery(1)


@pytest.mark.slow
@pytest.mark.usefixtures("begun", "no_pause")
def test_a_command_gets_the_json_on_its_standard_input(url, tmp_path):
    program = tmp_path / "tell me.py"
    program.write_text("import pathlib, sys; pathlib.Path(sys.argv[1]).write_text(sys.stdin.read())")
    command = shlex.join([sys.executable, str(program), str(tmp_path / "told.json")])
    assert alerts._send_alerts(Config(database_url=url, alert_command=command)) == alerts.Delivery(1)
    assert json.loads((tmp_path / "told.json").read_text())["alerts"][0]["condition"] == "vanished"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        ("import sys; sys.exit('no mail today')", "ended with exit code 1: no mail today"),
        ("import time; time.sleep(600)", "was ended after 0.5 seconds"),
    ],
)
def test_a_command_that_fails_is_said(tmp_path, monkeypatch, program, sentence):
    monkeypatch.setattr(alerts, "_SECONDS", 0.5)
    command = shlex.join([sys.executable, "-c", program])
    config = Config(database_url=f"sqlite:///{tmp_path / 'blocks.db'}", alert_command=command)
    (failure,) = alerts.deliver([alerts.sample_alert()], config)
    assert sentence in failure


@pytest.mark.slow
def test_a_command_that_does_not_exist_is_said(tmp_path):
    config = Config(database_url=f"sqlite:///{tmp_path / 'blocks.db'}", alert_command="/no/such/program --now")
    assert alerts.deliver([alerts.sample_alert()], config) == [
        "ALERT_COMMAND /no/such/program could not be run: No such file or directory"
    ]


def test_nothing_is_claimed_from_a_database_that_is_gone(tmp_path):
    result = alerts._send_alerts(Config(database_url=f"sqlite:///{tmp_path / 'gone.db'}", alert_command="true"))
    assert "there is no database at" in result.failures[0]


@pytest.mark.parametrize(("name", "value"), [("ALERT_WEBHOOK", "ftp://a.example/"), ("ALERT_COMMAND", "mail 'me")])
def test_a_setting_that_cannot_work_is_refused(name, value):
    with pytest.raises(ConfigError, match=name):
        Config.read(Settings({name: value}))


def test_the_address_of_a_webhook_is_a_secret():
    settings = Settings({"ALERT_WEBHOOK": "https://hooks.example/T0P-S3CRET"})
    assert explain_setting("ALERT_WEBHOOK", settings).value == "***"


def test_open_conditions_are_read(engine, begun):
    with read_transaction(engine) as connection:
        assert [held.condition for held in records.read_alerts(connection, ["a.example"])] == [Condition.VANISHED]
        assert records.read_alerts(connection, ["b.example"]) == []
