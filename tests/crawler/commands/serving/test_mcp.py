"""`scrapy mcp`: its mistakes, and an assistant at its port."""

import asyncio
import os
import socket
import subprocess
import sys
from time import monotonic, sleep

import pytest
from cleaned_pages import address, fill
from mcp import Client

from crawler.storage.database import opened_engine
from crawler.storage.schema import prepare_schema
from crawler.storage.store import Store

SECONDS = 300


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--http", "0"], 2, "--http is 0; it takes a port from 1 to 65535"),
        (["extra"], 2, "extra"),
        ([], 1, "there is no database at"),
    ],
)
def test_mistakes_are_named(scrapy, tmp_path, arguments, code, says):
    served = scrapy("mcp", *arguments, DATABASE_URL=f"sqlite:///{tmp_path}/none.db")
    assert served.returncode == code
    assert says in served.stderr


def test_a_port_that_is_taken_is_named(scrapy, tmp_path):
    url = filled(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        served = scrapy("mcp", "--http", str(taken.getsockname()[1]), DATABASE_URL=url)
    assert served.returncode == 1
    assert "--port" in served.stderr or "in use" in served.stderr


def filled(folder):
    url = f"sqlite:///{folder}/blocks.db"
    with opened_engine(url) as engine:
        prepare_schema(engine)
        fill(Store(engine), 2)
    return url


def test_an_assistant_on_this_machine_reads_a_page(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = os.environ | {"DATABASE_URL": filled(tmp_path), "SCRAPY_SETTINGS_MODULE": "crawler.settings"}
    command = [sys.executable, "-m", "scrapy", "mcp", "--http", str(port)]
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE) as server:
        try:
            wait_for(port, server)

            async def call():
                async with Client(f"http://127.0.0.1:{port}/mcp") as client:
                    return await client.call_tool("read_page", {"url": address(1)})

            assert "Ferry 1 is late" in asyncio.run(call()).structured_content["text"]
        finally:
            server.terminate()


def wait_for(port, server):
    until = monotonic() + SECONDS
    while monotonic() < until:
        assert server.poll() is None, server.stderr.read()
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
        except OSError:
            sleep(0.1)
        else:
            return
    raise TimeoutError(port)
