"""`scrapy compare`."""

import gzip
import json
import os
import pty
import subprocess
import sys

import processes
import pytest
import taught_site
from lxml import html as lxml_html

from cleaning.methods import METHODS
from cleaning.teaching.site_model import write_site_models

RAW = [name for name, method in METHODS.items() if method.needs is None]
# Nobody is to be spared on the loopback address, which no proxy may stand before.
HURRY = ["-s", "ALLOW_ADDRESSES=127.0.0.0/8", "-s", "AUTOTHROTTLE_ENABLED=0", "-s", "RETRY_TIMES=0"]
NO_PROXY = dict.fromkeys(("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"), "")
NO_BROWSER = ["-s", "CHROMIUM=/nowhere/chromium"]
TWO = ["--methods", "default,subtree"]
ARTICLE = """<!doctype html><title>The river</title>
<div class="nav"><a href="/a">Home</a> <a href="/b">News</a></div>
<h1>The river rose</h1><p>The river rose in the night, and the bridge at the mill was closed, said the mayor.</p>
<p>Nobody was hurt, but the market of the town, which is held every week, did not take place. {}</p>"""


@pytest.fixture
def page(tmp_path):
    path = tmp_path / "page.html"
    path.write_text(ARTICLE.format(""), "utf-8")
    return path


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "pages"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.html.gz").write_bytes(gzip.compress(ARTICLE.format(f"Note {number}.").encode()))
    return folder


@pytest.fixture
def fetch(scrapy, serve, answer):
    """Compare the page at an address that answers like this, with this robots.txt."""

    def run(*arguments, robots="", **answered):
        site, requests = serve({"/robots.txt": answer(robots), "/page": answer(**answered)})
        compared = scrapy("compare", f"{site}/page", *arguments, *TWO, *HURRY, **NO_PROXY)
        return compared, requests

    return run


def sentence(failed, code=1):
    assert (failed.returncode, failed.stdout) == (code, "")
    assert "Traceback" not in failed.stderr
    (line,) = failed.stderr.splitlines() if code == 1 else failed.stderr.splitlines()[-1:]
    return line


def test_a_page_is_compared_by_every_method_that_can_work(scrapy, page):
    compared = scrapy("compare", "page.html", *NO_BROWSER)
    assert (compared.returncode, compared.stderr) == (0, "")
    for name in RAW:
        assert f" {name} " in compared.stdout
    assert "left out: vce: CHROMIUM is '/nowhere/chromium'" in compared.stdout
    assert "left out: ce: needs several pages of a site" in compared.stdout
    for part in ("page.html: 4 blocks", "parse: ", "Dropped blocks by reason", "Agreement: F1"):
        assert part in compared.stdout


def test_the_tables_of_all_methods_fit_100_columns(scrapy, folder):
    lines = scrapy("compare", "pages", *NO_BROWSER).stdout.splitlines()
    assert max(len(line) for line in lines if line[:1] in "┏┃┡│└") <= 100


def test_json_contains_every_figure(scrapy, folder):
    compared = scrapy("compare", "pages", "--json", *TWO)
    assert (compared.returncode, compared.stderr) == (0, "")
    report = json.loads(compared.stdout)
    assert (report["target"], report["methods"], report["left_out"]) == ("pages", ["default", "subtree"], {})
    assert [record["name"] for record in report["pages"]] == ["0.html.gz", "1.html.gz", "2.html.gz"]
    first = report["pages"][0]
    assert (first["failure"], first["url"], first["encoding"], first["blocks"]) == (None, None, "utf-8", 4)
    default = first["methods"]["default"]
    assert default["kept"] == len(default["kept_blocks"]) == default["reasons"]["kept"]
    assert default["kept_blocks"][0].keys() == {"position", "path"}
    assert first["agreement"][0]["methods"] == ["default", "subtree"]
    totals = report["totals"]
    assert (totals["pages"], totals["compared"], totals["failures"]) == (3, 3, {})
    assert totals["methods"]["default"]["words"] == sum(
        record["methods"]["default"]["words"] for record in report["pages"]
    )
    assert {"median_ms", "mean_ms", "share", "failures"} <= totals["methods"]["default"].keys()


def test_what_cannot_be_read_is_counted_and_listed_beside_what_can(scrapy, folder):
    (folder / "broken.html.gz").write_bytes(b"\x1f\x8b\x08\x00")
    (folder / "film.html").write_bytes(b"\x89PNG\r\n\x1a\n\x00\x00")
    (folder / "klingon.html").write_bytes(b'<meta charset="klingon"><p>' + bytes(range(0x80, 0x100)))
    (folder / "large.html").write_bytes(b"<p>" + b"a" * 5_000)
    compared = scrapy("compare", "pages", *TWO, "-s", "PAGE_MAX_BYTES=4000")
    assert compared.returncode == 0
    assert "4 of 7 pages" in compared.stdout
    assert "not compared: damaged_file 1, binary_page 1, too_large 1" in compared.stdout
    assert "film.html: binary_page: the page starts with" in compared.stdout


def test_an_index_names_the_addresses(scrapy, folder):
    (folder / "index.tsv").write_text("file\turl\n0.html.gz\thttps://a.example/0\n")
    report = json.loads(scrapy("compare", "pages", "--json", *TWO).stdout)
    assert [(record["name"], record["url"]) for record in report["pages"]] == [("https://a.example/0",) * 2]


def test_standard_input_is_a_page(scrapy, page, environment):
    command = [sys.executable, "-m", "scrapy", "compare", "-", *TWO, "--json"]
    compared = processes.run(command, input=page.read_bytes(), capture_output=True, env=environment, check=True)
    assert json.loads(compared.stdout)["pages"][0]["blocks"] == 4


def test_a_name_that_could_move_the_cursor_is_only_shown(scrapy, tmp_path):
    (tmp_path / "[red]\x1b[2J\u202e.html").write_text(ARTICLE)
    compared = scrapy("compare", "[red]\x1b[2J\u202e.html", *TWO)
    assert compared.returncode == 0
    assert "\x1b" not in compared.stdout
    assert "[red]" in compared.stdout


def test_options_of_cleaning_are_taken(scrapy, page):
    report = json.loads(scrapy("compare", "page.html", "--json", *TWO, "--option", "subtree_alpha=10000").stdout)
    assert report["pages"][0]["methods"]["subtree"]["kept"] == 0
    report = json.loads(
        scrapy("compare", "page.html", "--json", *TWO, "-s", 'CLEANING_OPTIONS={"subtree_alpha": 10000}').stdout
    )
    assert report["pages"][0]["methods"]["subtree"]["kept"] == 0


def test_the_page_is_written_as_html(scrapy, page, tmp_path):
    compared = scrapy("compare", "page.html", "--html", "out.html", "--url", "https://a.example/1", *TWO)
    assert (compared.returncode, compared.stderr) == (0, "")
    tree = lxml_html.parse(tmp_path / "out.html").getroot()
    assert tree.xpath("//a/@href") == ["https://a.example/1"]
    assert not tree.xpath("//script")


def test_a_folder_is_written_as_a_folder(scrapy, folder, tmp_path):
    assert scrapy("compare", "pages", "--html", "out", *TWO).returncode == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "index.html",
        *(f"page-0000{n}.html" for n in (1, 2, 3)),
    ]


def test_the_page_itself_is_not_overwritten(scrapy, page):
    assert "it is not overwritten" in sentence(scrapy("compare", "page.html", "--html", "page.html", *TWO))
    assert page.read_text() == ARTICLE.format("")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "name one page"),
        (["a", "b"], "name one page"),
        (["page.html", "--methods", "defualt"], "did you mean 'default'"),
        (["page.html", "--methods", ""], "no method is named"),
        (["page.html", "--metods=x"], "unknown option: --metods=x"),
        (["page.html", "--option", "subtree_alfa=1"], "did you mean 'subtree_alpha'"),
        (["page.html", "--option", "subtree_alpha"], "is not NAME=VALUE"),
    ],
)
def test_wrong_usage_is_2(scrapy, page, arguments, says):
    assert says in sentence(scrapy("compare", *arguments), 2)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["absent.html"], "there is no file or folder 'absent.html'"),
        (["empty"], "holds no page"),
        (["nothing.html"], "nothing.html: empty: no element and no text"),
        (["page.html", "--methods", "ce"], "ce needs several pages of a site"),
        (["page.html", "--methods", "vce", *NO_BROWSER], "CHROMIUM is '/nowhere/chromium'"),
        (["http://"], "is not the address of a page"),
        (["http://a.example/", "--url", "http://b.example/"], "this one has its own"),
        (["page.html", "-s", "BLOCKSIEVE_CLEANING_OPTION={}"], "did you mean BLOCKSIEVE_CLEANING_OPTIONS?"),
    ],
)
def test_what_cannot_be_compared_is_one_sentence_and_1(scrapy, page, tmp_path, arguments, says):
    (tmp_path / "empty").mkdir()
    (tmp_path / "nothing.html").touch()
    assert says in sentence(scrapy("compare", *arguments))


def test_a_folder_without_a_readable_page_gives_a_line_for_each(scrapy, tmp_path):
    for name in ("a.html", "b.html"):
        (tmp_path / name).touch()
    failed = scrapy("compare", ".", *TWO)
    assert (failed.returncode, failed.stdout) == (1, "")
    assert [line.split(":")[0] for line in failed.stderr.splitlines()] == ["a.html", "b.html"]


def test_an_address_is_fetched_once_by_its_rules_and_nothing_is_stored(fetch, tmp_path):
    compared, requests = fetch("--json", body=ARTICLE)
    assert (compared.returncode, compared.stderr) == (0, "")
    (record,) = json.loads(compared.stdout)["pages"]
    assert record["blocks"] == 4
    assert record["url"].endswith("/page")
    assert [path for path, _ in requests] == ["/robots.txt", "/page"]
    assert all(headers["User-Agent"].startswith("blocksieve/") for _, headers in requests)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("answered", "says"),
    [
        ({"status": 404}, "not_found: HTTP status 404"),
        ({"status": 403}, "forbidden: HTTP status 403"),
        ({"status": 503}, "refused: HTTP status 503"),
        ({"body": b"\x89PNG\r\n", "headers": {"Content-Type": "image/png"}}, "not_html: Content-Type image/png"),
        ({"body": ""}, "empty"),
        ({"body": ARTICLE, "robots": "User-agent: *\nDisallow: /"}, "robots.txt forbids it"),
        ({"body": "<p>" + "a" * 100_000}, "100003 bytes"),
    ],
)
def test_an_address_without_a_page_is_one_sentence(fetch, answered, says):
    failed, _ = fetch("-s", "PAGE_MAX_BYTES=90000", **answered)
    said = sentence(failed)
    assert says in said
    assert "http://127.0.0.1" in said


def test_an_address_that_nobody_answers_is_one_sentence(scrapy):
    said = sentence(scrapy("compare", "http://127.0.0.1:9/", *TWO, *HURRY, **NO_PROXY))
    assert "there is no page at http://127.0.0.1:9/" in said


def test_a_password_in_an_address_is_refused_and_not_shown(scrapy):
    said = sentence(scrapy("compare", "http://user:secret@127.0.0.1:9/", *TWO, *HURRY, **NO_PROXY))
    assert "user name" in said
    assert "secret" not in said


def test_robots_are_obeyed_in_a_project_that_knows_nothing_of_them(scrapy, serve, answer, tmp_path, environment):
    (tmp_path / "theirs.py").write_text('COMMANDS_MODULE = "crawler.commands"\n')
    theirs = {"SCRAPY_SETTINGS_MODULE": "theirs", "PYTHONPATH": f"{environment['PYTHONPATH']}{os.pathsep}{tmp_path}"}
    site, requests = serve({"/robots.txt": answer("User-agent: *\nDisallow: /"), "/page": answer(ARTICLE)})
    failed = scrapy("compare", f"{site}/page", *TWO, *HURRY, **theirs, **NO_PROXY)
    assert "robots.txt forbids it" in sentence(failed)
    assert [path for path, _ in requests] == ["/robots.txt"]


def test_progress_is_shown_on_a_terminal_only(environment, folder):
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "scrapy", "compare", "pages", *TWO]
    with processes.start(command, cwd=folder.parent, env=environment, stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        out = process.stdout.read()
        output = b""
        while chunk := _read(ours):
            output += chunk
    os.close(ours)
    assert process.returncode == 0
    assert b"3/3" in output
    assert b"3/3" not in out


def _read(terminal):
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # the other end is closed
        return b""


def test_a_reader_may_leave_early(environment, folder):
    command = f"{sys.executable} -m scrapy compare pages --json {' '.join(TWO)} | head -c 10"
    piped = subprocess.run(command, shell=True, cwd=folder.parent, env=environment, capture_output=True, check=True)
    assert (len(piped.stdout), piped.stderr) == (10, b"")


def test_vce_is_compared_where_a_browser_is(scrapy, folder, chromium):
    compared = scrapy("compare", "pages", "--json", "--methods", "default,vce,ce", "-s", f"CHROMIUM={chromium}")
    assert compared.returncode == 0, compared.stderr
    totals = json.loads(compared.stdout)["totals"]
    assert [totals["methods"][name]["pages"] for name in ("vce", "ce")] == [3, 3]
    assert totals["render_ms"] > 0


def test_real_pages_are_compared_by_every_method(scrapy, data, tmp_path):
    lines = (data / "sites" / "index.tsv").read_text("utf-8").splitlines()
    (tmp_path / "sites").mkdir()
    for number, line in enumerate([line for line in lines if line.startswith(("sina\t", "bbc\t"))][:6]):
        site, name, *_ = line.split("\t")
        (tmp_path / "sites" / f"{number}.html.gz").write_bytes((data / "sites" / site / name).read_bytes())
    compared = scrapy("compare", "sites", "--json", "--html", "out", *NO_BROWSER)
    assert compared.returncode == 0, compared.stderr
    totals = json.loads(compared.stdout)["totals"]
    assert (totals["compared"], totals["failures"]) == (6, {})
    assert all(totals["methods"][name]["pages"] == 6 for name in [*RAW, "ce"])
    assert len(list((tmp_path / "out").iterdir())) == 7


def test_a_taught_site_is_compared_before_and_after(scrapy, tmp_path):
    (tmp_path / "page.html").write_text(taught_site.page_html(7), "utf-8")
    (tmp_path / "models.jsonl").write_text(write_site_models({"courier.example": taught_site.site_model()}), "utf-8")
    models = ("--site-models", "models.jsonl")
    compared = scrapy("compare", "page.html", "--url", taught_site.address(7), "--json", *TWO, *models)
    assert compared.returncode == 0, compared.stderr
    record = json.loads(compared.stdout)
    assert list(record["methods"]) == ["default", "taught", "subtree"]
    methods = record["pages"][0]["methods"]
    kept = {name: {block["position"] for block in methods[name]["kept_blocks"]} for name in ("default", "taught")}
    (offer,) = taught_site.positions(taught_site.draft(7), taught_site.offer(7))
    assert kept["default"] - kept["taught"] == {offer}
    assert methods["taught"]["reasons"]["taught"] == 1
    other = scrapy("compare", "page.html", "--url", "https://other.example/7", *TWO, *models)
    assert "the site other.example has no model" in other.stdout
    refused = scrapy("compare", "page.html", "--methods", "subtree", *models)
    assert (refused.returncode, "--site-models is for the method `default`" in refused.stderr) == (1, True)


@pytest.fixture
def judged(tmp_path):
    """Six pages of six sites with their gold texts; the text of the last one is of no page."""
    (tmp_path / "pages").mkdir()
    rows = []
    for number in range(6):
        text = f"The {number} ferries that cross the river every morning were late because of the ice in the harbour."
        page = f"<html><body><ul><li><a href='/'>Home</a></li></ul><article><h1>Ice</h1><p>{text}</p></article></body>"
        (tmp_path / "pages" / f"{number}.html").write_text(page)
        rows.append({"file": f"{number}.html" if number < 5 else "none.html", "text": f"Ice\n{text}"})
    (tmp_path / "gold.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))


@pytest.mark.slow
def test_methods_are_scored_by_gold_texts(scrapy, judged, tmp_path):
    arguments = ["compare", "pages", "--gold", "gold.jsonl", "--methods", "default,pab", "--peers", "BTE"]
    printed = scrapy(*arguments, "--scores", "scores.csv", "--latex", "table.tex")
    assert printed.returncode == 0, printed.stderr
    assert "gold texts (jsonl): 5 pages, 1 page without a gold text" in printed.stdout
    assert "default – BTE" in printed.stdout
    record = json.loads(scrapy(*arguments, "--json").stdout)["gold"]
    assert [method["method"] for method in record["methods"]] == ["default", "pab", "BTE"]
    assert all(0 < method["low"] <= method["f1"] <= method["high"] <= 1 for method in record["methods"])
    assert len(record["tests"]) == 3
    assert len(record["pages"]) == 5
    assert (tmp_path / "scores.csv").read_text().startswith("page,url,site,method,f1,precision,recall\n0.html,")
    assert len((tmp_path / "scores.csv").read_text().splitlines()) == 1 + 3 * 5
    assert r"\begin{tabular}" in (tmp_path / "table.tex").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--scores", "s.csv"], 2, "--peers, --scores and --latex need --gold PATH"),
        (["--gold", "none.jsonl"], 1, "--gold is 'none.jsonl'"),
        (["--gold", "gold.jsonl", "--peers", "unknown"], 1, "--peers names 'unknown'; known: trafilatura"),
        (["--gold", "other.jsonl"], 1, "none of its texts is of a page that was compared"),
        (["--gold", "gold.jsonl", "--latex", "nowhere/t.tex"], 1, "cannot write 'nowhere/t.tex'"),
    ],
)
def test_mistakes_with_gold_texts_are_named(scrapy, judged, tmp_path, arguments, code, says):
    (tmp_path / "other.jsonl").write_text('{"file": "other.html", "text": "other"}\n')
    compared = scrapy("compare", "pages", "--methods", "default", *arguments)
    assert (compared.returncode, says in compared.stderr) == (code, True), compared.stderr
