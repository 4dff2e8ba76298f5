"""The program that measures detectors of languages, with texts at hand."""

import languages

TEXTS = [
    (
        "en",
        "The town library opens again on Monday after two years of repairs, and its reading room has kept its tables.",
    ),
    (
        "de",
        "Die Stadtbücherei öffnet am Montag nach zwei Jahren wieder, und der Lesesaal hat seine alten Tische behalten.",
    ),
    (
        "no",
        "Byens bibliotek åpner igjen på mandag etter to år med reparasjoner, og lesesalen har beholdt bordene sine.",
    ),
    (
        "fr",
        "The town library opens again on Monday after two years of repairs, and its reading room has kept its lamps.",
    ),
]


def test_a_detector_is_right_on_the_texts_that_state_their_language():
    for module in ("fasttext", "py3langid"):
        cost = languages.measure(module, TEXTS)
        assert cost.right == {"2000": 0.75, "200": 0.75, "80": 0.75}
        assert cost.text_ms > 0


def test_texts_are_those_of_pages_that_state_a_language(data):
    texts = languages.read_texts()
    assert len(texts) > 1_000
    assert {"de", "en", "fr"} < {stated for stated, _ in texts}
