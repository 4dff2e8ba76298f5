"""The input files of a job, found by folder, pattern and list."""

import gzip

import pytest
from warcs import article, paragraph, write_warc

from crawler.batch.filters import RecordFilter
from crawler.batch.inputs import InputKind, find_inputs
from crawler.batch.records import read_records
from crawler.errors import InputError
from crawler.fetching.answers import Answer, OtherRequests, PassedRecord

PAGE = article("Storm", paragraph(1))
LIMIT = 1_000_000


def answers(records):
    return [(record.url, record.body) for record in records if isinstance(record, Answer)]


def passed(records):
    return [record.reason for record in records if isinstance(record, PassedRecord)]


def test_a_folder_a_glob_and_a_list_name_the_same_files(tmp_path):
    names = ["b.warc.gz", "a.warc", "sub/c.parquet", "sub/d.warc.wet.gz"]
    (tmp_path / "sub").mkdir()
    for name in [*names, "note.md"]:
        (tmp_path / name).touch()
    (tmp_path / "all.paths.gz").write_bytes(gzip.compress("\n".join([*names, ""]).encode()))
    paths = {str(tmp_path / name) for name in names}
    in_folder = find_inputs([str(tmp_path)])
    assert [file.path for file in in_folder] == sorted(paths)
    assert [file.number for file in in_folder] == [0, 1, 2, 3]
    assert {file.path for file in find_inputs([f"{tmp_path}/*.warc*", f"{tmp_path}/sub"])} == paths
    assert [file.path for file in find_inputs([str(tmp_path / "all.paths.gz")])] == [
        f"{tmp_path}/{name}" for name in names
    ]
    assert len(find_inputs([str(tmp_path), f"{tmp_path}/a.warc"])) == 4


def test_the_paths_of_a_list_begin_at_the_base(tmp_path):
    listed = tmp_path / "warc.paths"
    listed.write_text("crawl-data/a.warc.gz\n")
    (file,) = find_inputs([str(listed)], "https://data.example.org/")
    assert file.path == "https://data.example.org/crawl-data/a.warc.gz"


@pytest.mark.parametrize(
    ("name", "message"),
    [("none.warc", "does not exist"), ("note.md", "has no suffix that is known"), (".", "hold no file")],
)
def test_an_input_that_is_none_is_named(tmp_path, name, message):
    (tmp_path / "note.md").touch()
    with pytest.raises(InputError, match=message):
        find_inputs([f"{tmp_path}/{name}"])


def test_a_folder_of_saved_pages_is_one_input(tmp_path):
    """Like `REPLAY`: a link and a picture are no pages, and no index is needed."""
    folder = tmp_path / "saved"
    (folder / "news").mkdir(parents=True)
    (folder / "news" / "1.html").write_text(PAGE)
    (folder / "picture.png").write_bytes(b"\x89PNG")
    (folder / "link.html").symlink_to(folder / "news" / "1.html")
    (file,) = find_inputs([str(folder)])
    assert file.kind is InputKind.FOLDER
    records = list(read_records(file, RecordFilter(), LIMIT, OtherRequests()))
    assert answers(records) == [("https://news.invalid/1.html", PAGE.encode())]
    assert sorted(passed(records)) == ["link", "other_type"]


def test_a_folder_with_archives_and_pages_is_its_archives(tmp_path):
    (tmp_path / "report.html").write_text(PAGE)
    path = write_warc(tmp_path / "a.warc.gz", [("https://a.example/1", PAGE)])
    assert [file.path for file in find_inputs([str(tmp_path)])] == [str(path)]
