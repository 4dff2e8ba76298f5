"""Each form has its formats, and an export for Excel opens in it."""

import codecs
import csv

import pytest
from openpyxl import load_workbook

from crawler.errors import ExportError
from crawler.reading.exports import formats
from crawler.reading.exports.formats import ExportHead, csv_cell
from crawler.reading.exports.forms import ExportForm, format_of, open_row_writer, suffixes
from crawler.reading.exports.rows import ExportColumn

HEAD = ExportHead("pages", (ExportColumn("id", "int64", ""), ExportColumn("text", "string", "")))
LONG = "ü" * 40_000
ROWS = [(1, LONG), (1 << 62, "=1+1"), (3, None), (4, "https://a.example/")]


def written(tmp_path, form, ending):
    path = tmp_path / f"out{ending}"
    with path.open("wb") as file, open_row_writer(form, ending, file, HEAD) as writer:
        writer.write(ROWS)
    return path


@pytest.mark.parametrize(
    ("name", "form", "ending"),
    [
        ("a.parquet", "programs", ".parquet"),
        ("A.JSONL.GZ", "programs", ".jsonl.gz"),
        ("a.warc.wet.gz", "programs", ".wet.gz"),
        ("a.csv", "excel", ".csv"),
        ("a.json.gz", "dolma", ".json.gz"),
        ("a.json.gz", "programs", None),
        ("a.parquet", "excel", None),
        ("folder", "huggingface", ""),
        ("folder", "programs", None),
    ],
)
def test_the_suffix_names_a_format_of_the_form(name, form, ending):
    assert format_of(name, ExportForm(form)) == ending


def test_every_form_but_that_of_folders_has_suffixes():
    assert [form for form in ExportForm if not suffixes(form)] == [ExportForm.HUGGINGFACE]


def test_csv_for_excel_has_a_byte_order_mark_and_cells_that_fit(tmp_path):
    path = written(tmp_path, ExportForm.EXCEL, ".csv")
    assert path.read_bytes().startswith(codecs.BOM_UTF8)
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[0] == {"id": "1", "text": f"{LONG[:32_766]}…"}
    assert rows[1]["text"] == csv_cell("=1+1") == "'=1+1"


def test_csv_for_programs_is_whole_and_without_a_mark(tmp_path):
    content = written(tmp_path, ExportForm.PROGRAMS, ".csv").read_bytes()
    assert content.startswith(b"id,text\n")
    assert LONG.encode() in content


def test_a_workbook_has_texts_as_texts(tmp_path):
    sheet = load_workbook(written(tmp_path, ExportForm.PROGRAMS, ".xlsx")).active
    rows = list(sheet.iter_rows(values_only=True))
    # A number that a float does not hold is a text.
    assert rows == [
        ("id", "text"),
        (1, f"{LONG[:32_766]}…"),
        (str(1 << 62), "=1+1"),
        (3, None),
        (4, "https://a.example/"),
    ]
    assert sheet.freeze_panes == "A2"
    assert sheet["B3"].data_type == "s"
    assert sheet["B5"].hyperlink is None


def test_more_rows_than_a_sheet_holds_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(formats, "_SHEET_ROWS", 4)
    with pytest.raises(ExportError, match="more than the 3 rows that a sheet holds"):
        written(tmp_path, ExportForm.PROGRAMS, ".xlsx")
