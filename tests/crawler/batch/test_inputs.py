"""The input files of a job, found by folder, pattern and list."""

import gzip
from zipfile import ZipFile

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


def read(file):
    return list(read_records(file, RecordFilter(), LIMIT, OtherRequests()))


def test_a_folder_a_glob_and_a_list_name_the_same_files(tmp_path):
    names = ["b.warc.gz", "a.warc", "sub/c.parquet", "sub/d.warc.wet.gz"]
    (tmp_path / "sub").mkdir()
    for name in [*names, "note.md"]:
        (tmp_path / name).touch()
    (tmp_path / "all.paths.gz").write_bytes(gzip.compress("\n".join([*names, ""]).encode()))
    paths = {str(tmp_path / name) for name in names}
    in_folder = find_inputs([str(tmp_path)])
    assert [file.path for file in in_folder] == [*sorted(paths), str(tmp_path)]
    assert [file.number for file in in_folder] == [0, 1, 2, 3, 4]
    assert {file.path for file in find_inputs([f"{tmp_path}/*.warc*", f"{tmp_path}/sub"])} == paths
    assert [file.path for file in find_inputs([str(tmp_path / "all.paths.gz")])] == [
        f"{tmp_path}/{name}" for name in names
    ]
    assert len(find_inputs([str(tmp_path), f"{tmp_path}/a.warc"])) == 5


def test_the_paths_of_a_list_begin_at_the_base(tmp_path):
    listed = tmp_path / "warc.paths"
    listed.write_text("crawl-data/a.warc.gz\n")
    (file,) = find_inputs([str(listed)], "https://data.example.org/")
    assert file.path == "https://data.example.org/crawl-data/a.warc.gz"


@pytest.mark.parametrize(
    ("name", "message"),
    [("none.warc", "does not exist"), ("note.md", "has no suffix that is known"), ("empty", "hold no file")],
)
def test_an_input_that_is_none_is_named(tmp_path, name, message):
    (tmp_path / "note.md").touch()
    (tmp_path / "empty").mkdir()
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
    records = read(file)
    assert answers(records) == [("https://news.invalid/1.html", PAGE.encode())]
    assert sorted(passed(records)) == ["link", "other_type"]


def test_every_file_of_a_mixed_folder_is_read_or_counted(tmp_path):
    (tmp_path / "report.html").write_text(PAGE)
    (tmp_path / "notes.md").write_text("notes")
    (tmp_path / "lost.warc").symlink_to(tmp_path / "nowhere")
    (tmp_path / "broken.wacz").write_bytes(b"no ZIP")
    path = write_warc(tmp_path / "a.warc.gz", [("https://a.example/1", PAGE)])
    (tmp_path / "linked.warc.gz").symlink_to(path)
    files = find_inputs([str(tmp_path)])
    assert [file.path.rpartition("/")[2] for file in files[:-1]] == [
        "a.warc.gz",
        "broken.wacz",
        "linked.warc.gz",
        "lost.warc",
    ]
    archive, broken, linked, lost, folder = files
    assert (broken.kind, folder.kind) == (InputKind.WACZ, InputKind.FOLDER)
    assert answers(read(archive)) == answers(read(linked)) == [("https://a.example/1", PAGE.encode())]
    records = read(folder)
    assert answers(records) == [("https://replay.invalid/report.html", PAGE.encode())]
    assert passed(records) == ["other_type"]
    for file, message in ((broken, "is no ZIP file"), (lost, "does not exist")):
        with pytest.raises(InputError, match=message):
            read(file)


def test_a_folder_of_one_link_that_leads_nowhere_is_read_and_found_missing(tmp_path):
    (tmp_path / "lost.warc").symlink_to(tmp_path / "nowhere")
    (file,) = find_inputs([str(tmp_path)])
    with pytest.raises(InputError, match="does not exist"):
        read(file)
    with pytest.raises(InputError, match="does not exist"):
        find_inputs([str(tmp_path / "lost.warc")])


def test_pages_of_one_name_in_two_folders_have_two_addresses(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "storm.htm").write_text(PAGE)
    first, second = find_inputs(["one/storm.htm", "./two/storm.htm"])
    assert answers(read(first)) == [(f"https://replay.invalid{tmp_path}/one/storm.htm", PAGE.encode())]
    assert answers(read(second)) == [(f"https://replay.invalid{tmp_path}/two/storm.htm", PAGE.encode())]
    for pattern in ("*/storm.htm", f"file://{tmp_path}/*/storm.htm"):
        urls = {url for file in find_inputs([pattern]) for url, _ in answers(read(file))}
        assert {url.rpartition("/storm.htm")[0].rpartition("/")[2] for url in urls} == {"one", "two"}


def test_the_warc_files_of_a_wacz_file_are_inputs(tmp_path):
    first = write_warc(tmp_path / "1.warc.gz", [("https://a.example/1", PAGE)]).read_bytes()
    second = write_warc(tmp_path / "2.warc", [("https://a.example/2", PAGE)], packed=False).read_bytes()
    with ZipFile(tmp_path / "a.wacz", "w") as archive:
        archive.writestr("datapackage.json", "{}")
        archive.writestr("archive/2.warc", second)
        archive.writestr("archive/1.warc.gz", first)
        archive.writestr("indexes/index.cdx.gz", b"")
    files = find_inputs([str(tmp_path / "a.wacz")])
    assert [file.path for file in files] == [
        f"zip://archive/{name}::{tmp_path}/a.wacz" for name in ("1.warc.gz", "2.warc")
    ]
    assert [answers(read(file))[0][0] for file in files] == ["https://a.example/1", "https://a.example/2"]


def test_many_small_warc_files_of_a_wacz_file_are_one_input(tmp_path):
    warc = write_warc(tmp_path / "1.warc.gz", [("https://a.example/1", PAGE)]).read_bytes()
    names = [f"archive/{number:04}.warc.gz" for number in range(3_000)]
    with ZipFile(tmp_path / "a.wacz", "w") as archive:
        for name in names:
            archive.writestr(name, {names[7]: warc, names[9]: b"\x1f\x8bdamaged", names[-1]: warc}.get(name, b""))
    (file,) = find_inputs([str(tmp_path / "a.wacz")])
    records = read(file)
    assert [url for url, _ in answers(records)] == ["https://a.example/1"] * 2
    assert [record.place.packed_file for record in records if isinstance(record, Answer)] == [
        f"zip://{name}::{tmp_path}/a.wacz" for name in (names[7], names[-1])
    ]
