import subprocess
import sys
from http.client import HTTPConnection
from urllib.parse import urlsplit

import processes
import pytest

from crawler.demo.site import read_truth


@pytest.fixture(scope="session")
def program():
    return [sys.executable, "-m", "crawler.demo"]


@pytest.fixture(scope="session")
def url(program):
    with processes.start(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        yield process.stdout.readline().rstrip("\n")
        process.terminate()


@pytest.fixture
def get(url):
    """Ask the running site for a path; the answer with its body in `text` and `content`."""
    connection = HTTPConnection(urlsplit(url).netloc, timeout=300)

    def ask(path, method="GET", **headers):
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        response = connection.getresponse()
        response.content = response.read()
        response.text = response.content.decode("utf-8", "replace")
        return response

    yield ask
    connection.close()


@pytest.fixture(scope="session")
def facts():
    return read_truth()
