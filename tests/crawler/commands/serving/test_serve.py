"""`scrapy serve`: it prints an address, answers there, and ends with Ctrl-C; what it cannot do is one sentence."""

import http.client
import re
import signal
import socket
import subprocess
import sys

import pytest


def test_it_answers_at_the_address_that_it_prints_until_ctrl_c(database, environment):
    command = [sys.executable, "-m", "scrapy", "serve", "--port", "0", "--token"]
    with subprocess.Popen(command, cwd=database.parent, env=environment, stdout=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline()
        port, token = re.search(r"shown at http://127\.0\.0\.1:(\d+)/\?token=([\w-]{32}) until Ctrl-C$", line).groups()
        connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=300)
        connection.request("GET", "/api/overview", headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        assert (answer.status, b'"pages":2' in answer.read()) == (200, True)
        connection.close()
        process.send_signal(signal.SIGINT)
        assert process.wait() == 0


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (["--port", "70000"], 2, "--port is 70000; it takes a number from 0 to 65535"),
        (["somewhere"], 2, "unexpected argument: somewhere"),
        (["--host", "0.0.0.0"], 1, "--host '0.0.0.0' can be reached from other machines: add --token"),
        (["--token", "short"], 1, "--token has 5 characters; it must have 16 or more"),
        (["--host", "host.invalid", "--token"], 1, "--host 'host.invalid' is not an address of this machine"),
    ],
)
def test_what_cannot_be_served_is_one_sentence(scrapy, database, options, code, words):
    done = scrapy("serve", *options)
    assert done.returncode == code
    assert words in done.stderr + done.stdout


def test_a_port_that_is_taken_and_a_missing_database_are_one_sentence(scrapy, database):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = scrapy("serve", "--port", str(port))
    assert done.returncode == 1
    assert done.stderr == f"--host 127.0.0.1 --port {port} cannot be used: Address already in use; try --port 0\n"
    missing = scrapy("serve", "-s", "DATABASE_URL=sqlite:///none.db")
    assert "there is no database at" in missing.stderr
