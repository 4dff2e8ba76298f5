"""Archives of a few pages, and the job that has read them."""

import pytest
from batch_jobs import PDF, options, pages
from warcs import write_warc

from crawler.batch.job import run_batch


@pytest.fixture(scope="session")
def archives(tmp_path_factory):
    """Three WARC files: the second has an answer for a page of the first, and the third is cut off."""
    folder = tmp_path_factory.mktemp("archives")
    write_warc(folder / "a.warc.gz", pages(0, 6))
    write_warc(
        folder / "b.warc",
        [*pages(6, 6, "b.example"), *pages(0, 1), PDF],
        packed=False,
    )
    whole = write_warc(folder / "c.warc.gz", pages(12, 4)).read_bytes()
    (folder / "c.warc.gz").write_bytes(whole[:-50])
    return folder


@pytest.fixture(scope="session")
def finished(archives, tmp_path_factory):
    """The summary of a job that has read these files, and the folder of its tables; both are only read."""
    folder = tmp_path_factory.mktemp("finished")
    return run_batch(options(folder, archives)), folder / "out"
