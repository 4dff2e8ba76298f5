"""The pieces of Python that docs/extend.md shows, run beside three pages."""

import pytest
from documented import blocks
from storm_page import EMPTY, PAGE, URL
from warcs import write_warc


@pytest.fixture
def run_example(tmp_path, monkeypatch):
    """Run the piece of Python that docs/extend.md shows for a tool, beside three pages; return its names."""
    pd = pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    rows = {"url": [URL, URL, URL], "html": [PAGE.encode(), EMPTY.encode(), PAGE.encode()]}
    pd.DataFrame(rows).to_parquet("pages.parquet")
    (tmp_path / "archives").mkdir()
    write_warc(tmp_path / "archives/a.warc.gz", [(f"{URL}/{number}", html) for number, html in enumerate(rows["html"])])

    def run(word):
        (piece,) = (example for example in blocks("python", "extend.md", "In another pipeline") if word in example.text)
        names = {"__name__": "__main__", "html": PAGE}
        exec(piece.text, names)
        return names

    return run
