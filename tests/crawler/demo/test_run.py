"""The end of `make demo SERVE=1`: the database as a web page, until Ctrl-C."""

import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

from shown_pages import fill

from crawler.storage.database import opened_engine

ROOT = Path(__file__).parents[3]
SHOW = "import sys; from pathlib import Path; from crawler.demo.run import show_database; "
SHOW += "sys.exit(show_database(Path(sys.argv[1])))"


def test_the_database_of_the_demo_is_shown_until_ctrl_c(tmp_path):
    path = tmp_path / "blocks.db"
    with opened_engine(f"sqlite:///{path}") as engine:
        fill(engine)
    command = [sys.executable, "-c", SHOW, str(path)]
    options = {"cwd": ROOT, "env": os.environ | {"no_proxy": "*"}, "start_new_session": True}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options) as process:
        address = re.search(r"shown at (http://127\.0\.0\.1:\d+/) until", process.stdout.readline())[1]
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"{address}api/overview") as answer:
            assert b'"pages":62' in answer.read()
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait() == 0
