"""Many pages in several processes: in order, each error as a value, and a process that dies takes one page along."""

import subprocess
import sys
from itertools import count, islice

import pytest
import taught_site

from cleaning import CleanPage, OptionError, PageError, ProcessError, StructureError, clean, clean_many

SENTENCE = "The river rose in the night and carried the old bridge number {n} down to the mill, where it lies."


def body(number):
    return f"<article><h1>Bridge {number}</h1>{f'<p>{SENTENCE.format(n=number)}</p>' * 3}</article>"


def address(number):
    return f"https://a.example/{number}"


@pytest.mark.parametrize("processes", [1, 2])
def test_pages_come_in_order_and_are_those_of_clean(processes):
    pages = list(clean_many(((body(n), address(n)) for n in range(60)), processes=processes))
    assert [page.url for page in pages] == [address(n) for n in range(60)]
    assert pages == [clean(body(n), address(n)) for n in range(60)]
    assert pages[7].markdown == clean(body(7), address(7)).markdown


@pytest.mark.parametrize("processes", [1, 2])
def test_errors_are_values(processes):
    inputs = [body(0), b"%PDF-1.7 \0\1\2", float("nan"), (body(3), float("nan")), bytearray(b"<p>x"), body(5).encode()]
    first, binary, missing, url, array, last = clean_many(inputs, processes=processes)
    assert isinstance(first, CleanPage)
    assert isinstance(binary, PageError)
    assert (str(missing), str(url)) == (
        "the page is a float; it must be bytes, str, a tree of lxml.html or a Page",
        "the url is nan, a float; it must be str or None",
    )
    assert str(array).startswith("the page is a bytearray;")
    assert SENTENCE.format(n=5) in last.text


def test_no_pages():
    assert list(clean_many([], processes=2)) == []


def test_without_a_structure_a_page_of_another_process_has_no_markdown():
    (page,) = clean_many([body(1)], processes=2, structure=False)
    with pytest.raises(StructureError):
        _ = page.markdown


def test_endless_pages_are_read_as_they_are_needed():
    read = []

    def pages():
        for number in count():
            read.append(number)
            yield body(number)

    results = clean_many(pages(), processes=2)
    assert [SENTENCE.format(n=n) in page.text for n, page in enumerate(islice(results, 20))] == [True] * 20
    results.close()
    assert len(read) < 200


def test_options_and_the_models_of_sites():
    models = {"courier.example": taught_site.site_model()}
    pages = [(taught_site.page_html(30), taught_site.address(30))]
    (taught,) = clean_many(pages, processes=2, site_models=models)
    assert taught_site.offer(30) not in taught.text
    (noise,) = clean_many(pages, processes=2, method="eniw", eniw_noise=True)
    assert noise.method == "eniw"
    assert len(noise.kept) == len(noise.decisions)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"processes": 0}, "processes is 0; it must be 1 or more"),
        ({"method": "defalt"}, "did you mean 'default'"),
        ({"method": "vce"}, "'vce' needs the page's layout"),
        ({"favor": "recall"}, "did you mean 'favour'"),
        ({"method": "pab", "site_models": {"a.example": taught_site.site_model()}}, "takes no model of a site"),
    ],
)
def test_mistakes_are_told_at_once(values, message):
    with pytest.raises(OptionError, match=message):
        clean_many([], **values)


DYING = """
import os
import cleaning.adapters.many
from cleaning import clean_many

TEXT = "<p>The river rose in the night and carried the old bridge down to the mill, where it lies until today."

def clean(html, *args, **options):
    if "die" in html:
        os.kill(os.getpid(), 9)
    return cleaning.clean(html, *args, **options)

cleaning.adapters.many.clean = clean

if __name__ == "__main__":
    for page in clean_many(["die" if n in (3, 17) else TEXT for n in range(30)], processes=2):
        print(type(page).__name__)
"""


def test_a_process_that_dies_takes_one_page_along(tmp_path):
    script = tmp_path / "dying.py"
    script.write_text(DYING)
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=600, check=False)
    assert run.returncode == 0, run.stderr
    expected = ["CleanPage"] * 30
    expected[3] = expected[17] = ProcessError.__name__
    assert run.stdout.split() == expected


def test_a_script_without_a_guard_is_told_so(tmp_path):
    script = tmp_path / "bare.py"
    script.write_text("from cleaning import clean_many\nprint(list(clean_many(['<p>x'], processes=2)))\n")
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=600, check=False)
    assert run.returncode == 1
    assert "call it below `if __name__ == '__main__':`" in run.stderr.splitlines()[-1]
