"""Names in the texts of bylines and statements."""

import pytest

from cleaning.metadata.author_names import read_names, read_shown_names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Eingestellt von Ann Lee", ["Ann Lee"]),
        ("veröffentlicht von Ann Lee", ["Ann Lee"]),
        ("View all posts by Ann Lee", ["Ann Lee"]),
        ("Zeige alle Beiträge von Ann Lee", ["Ann Lee"]),
        ("Interview: Ann Lee", ["Ann Lee"]),
        ("Text und Interview: Ann Lee", ["Ann Lee"]),
        ("Ann Lee @annlee", ["Ann Lee"]),
        ("Ann Lee (ann.lee@example.org)", ["Ann Lee"]),
        ("© Ann Lee", ["Ann Lee"]),
        ("Eine Kolumne von Ann Lee", ["Ann Lee"]),
        ("Review by Ann Lee", ["Ann Lee"]),
        ("Une chronique de Jeanne Petit", ["Jeanne Petit"]),
        ("Por Ana Reis e Rui Costa", ["Ana Reis", "Rui Costa"]),
        ("Przez Jan Nowak", ["Jan Nowak"]),
        ("Ann Lee, Bo Ek and Jo Doe", ["Ann Lee", "Bo Ek", "Jo Doe"]),
        ("Ann Lee, Staff Writer", ["Ann Lee"]),
        ("@annlee", []),
        ("ann.lee@example.org", []),
        ("Post author", []),
        ("Dienstag", []),
        ("{{ author }}", []),
    ],
)
def test_names_are_read_without_the_words_around_them(text, names):
    assert read_names(text) == names


@pytest.mark.parametrize(
    ("pieces", "names"),
    [
        (["By ", "Ann Lee", " and ", "Bo Ek"], ["Ann Lee", "Bo Ek"]),
        (["By", "Ann Lee", ", ", "Bo Ek", " 3 May 2024"], ["Ann Lee", "Bo Ek"]),
        (["By ", "Ann Lee", " and others"], ["Ann Lee"]),
        (["Ann Lee", "Senior Editor"], ["Ann Lee"]),
        (["Ann Lee on Tuesday"], ["Ann Lee"]),
        (["Von Ann Lee | 3. Mai 2024"], ["Ann Lee"]),
        ([], []),
    ],
)
def test_names_are_read_from_the_pieces_of_a_byline(pieces, names):
    assert read_shown_names(pieces) == names
