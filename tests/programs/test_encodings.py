"""The program that measures how often undeclared encodings are found."""

import encodings_quality as quality
import pytest


def saved(language, text):
    return quality.SavedPage(text, language, text)


def test_a_page_takes_part_in_the_encodings_of_its_language_that_hold_its_text():
    cases = quality.make_cases([saved("ru", "Погода была хорошая"), saved("pl", "Łódź")])
    assert sorted((case.page.language, case.label) for case in cases) == [
        ("pl", "UTF-8"),
        ("pl", "windows-1250"),
        ("ru", "KOI8-R"),
        ("ru", "UTF-8"),
        ("ru", "windows-1251"),
    ]


def test_few_characters_that_an_encoding_lacks_become_references():
    text = "Погода была хорошая. " * 3
    assert quality.encode(text + "—", "KOI8-R").endswith(b"&#8212;")
    assert quality.encode("Łódź", "windows-1251") is None


def test_detectors_that_name_no_encoding_of_python_read_windows_1252():
    read = quality._reader(lambda _: "cp-none")
    assert read("é".encode("cp1252")) == ("é", False)


def test_files_are_read_in_the_encoding_that_their_folder_names(tmp_path):
    text = "<?xml version='1.0' encoding='x'?><p>Погода"
    for folder in ("windows-1251-russian", "koi8-r", "IBM855"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.xml").write_bytes(text.encode("cp1251" if "1251" in folder else "koi8-r"))
    cases = quality.read_files(tmp_path)
    assert [(case.label, case.page.language) for case in cases] == [("KOI8-R", "other"), ("windows-1251", "russian")]
    assert all("encoding" not in case.text and "Погода" in case.text for case in cases)


def test_undeclared_encodings_of_real_pages_are_found(data):
    cases = quality.make_cases(quality.read_pages(["fundus-dev"]))
    older = [case for case in cases if case.label != "UTF-8"]
    assert len(older) >= 100
    ours = {"Blocksieve": quality.load_detectors()["Blocksieve"]}
    assert quality.measure(older, ours)["Blocksieve"].right.total() >= 0.97 * len(older)
    table = quality.show(cases, quality.measure(cases, ours))
    assert f"| **all older encodings** |  | {len(older)} |" in table


@pytest.mark.parametrize("declaration", ["<meta charset=koi8-r>", "<META http-equiv=x content='a; charset=\"b\"'>"])
def test_declarations_are_removed(declaration, tmp_path):
    (tmp_path / "koi8-r").mkdir()
    (tmp_path / "koi8-r" / "a").write_bytes(f"{declaration}<p>Погода".encode("koi8-r"))
    (case,) = quality.read_files(tmp_path)
    assert case.text == "<p>Погода"
