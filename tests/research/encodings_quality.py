"""How often the encoding of a page that declares none is found, by us and by other detectors.

    python tests/research/encodings_quality.py [--files FOLDER] [--most N] [--wrong] [--write docs/encodings.md]

Real pages of the development data are written again in the older encodings of their language, without any declaration.
An answer is right if the decoded text is equal, whatever the encoding is called. A page takes part in an encoding that
has 95 % of its characters beyond ASCII; the others become numeric character references, as they did on the pages of
that time. In turn, references of the saved page become characters first. The language is that of py3langid. For each
language and encoding, at most N pages (100) are chosen, by the hashes of their texts.

With --files, a second table is about files in their own encodings, whose folders are named by encoding and, perhaps,
language (`Big5`, `windows-1253-greek`), as in the tests of chardet's source distribution; declarations are removed.

chardet 7 is installed apart (`pip install 'chardet>=7'`); a detector that is missing is left out. The data is found
through BLOCKSIEVE_DATA (default: ../shared/data beside the checkout).
"""

from __future__ import annotations

import argparse
import gzip
import re
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import corpus
import xxhash
from lxml import etree
from provenance import SETS, Stamp
from py3langid import classify
from w3lib.encoding import html_body_declared_encoding

from cleaning import ParseWarning, parse
from cleaning.parse import decode, read_label

DATA_SETS = ("fundus-dev", "magic-dev", "snippets-dev", "wcxb-dev", "pool", "sites")
MARKS = "<!-- made by tests/research/encodings_quality.py -->", "<!-- end of what is made -->"
# The languages whose pages used an encoding, by the codes of py3langid; `zh-t` is Chinese in traditional characters.
LANGUAGES = {
    "windows-1250": "pl cs sk hu hr sl ro bs",
    "windows-1251": "ru uk bg sr mk be",
    "KOI8-R": "ru",
    "windows-1252": "en de fr es pt it nl sv no nb nn da fi id",
    "windows-1253": "el",
    "windows-1254": "tr",
    "windows-1255": "he",
    "windows-1256": "ar fa",
    "windows-1257": "lt lv et",
    "Shift_JIS": "ja",
    "EUC-JP": "ja",
    "ISO-2022-JP": "ja",
    "EUC-KR": "ko",
    "GB18030": "zh",
    "Big5": "zh-t",
}
_DECLARATION = re.compile(r"<meta\b[^<>]*charset[^<>]*>|(?<=<\?xml )[^<>]*(?=\?>)", re.IGNORECASE)
_REFERENCE = re.compile(r"&#(?:x([0-9a-f]{2,5})|(\d{3,6}));", re.IGNORECASE)
_SCRIPTS = etree.XPath("//script|//style|//noscript")
_LEAST_CHARACTERS = 16
_LEAST_TEXT = 200
_HELD = 0.95
# Python's names of the encodings that browsers know, as charset-normalizer wants them.
_WHATWG = (
    "utf_8 cp866 iso8859_2 iso8859_3 iso8859_4 iso8859_5 iso8859_6 iso8859_7 iso8859_8 iso8859_10 iso8859_13 "
    "iso8859_14 iso8859_15 iso8859_16 koi8_r koi8_u mac_roman cp874 cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 "
    "cp1257 cp1258 mac_cyrillic gb18030 big5hkscs euc_jp iso2022_jp cp932 cp949"
).split()


@dataclass(frozen=True)
class SavedPage:
    """A page's text without declarations, and its language."""

    name: str
    language: str
    text: str


@dataclass(frozen=True)
class Case:
    """A page in an encoding that it does not declare."""

    page: SavedPage
    label: str
    body: bytes

    @property
    def text(self):
        return self.body.decode(read_label(self.label))


@dataclass
class Tally:
    """What a detector found in all cases, by encoding; `doubted` counts answers with a warning, by right and wrong."""

    right: Counter = field(default_factory=Counter)
    doubted: Counter = field(default_factory=Counter)
    seconds: float = 0.0


def read_pages(sets=DATA_SETS):
    """Yield the different pages of these sets whose true text is known: UTF-8, or an encoding that they declare."""
    seen = set()
    for path in sorted(path for name in sets for path in (corpus.DATA / SETS[name]).rglob("*.gz")):
        body = gzip.decompress(path.read_bytes())
        decoded = decode(body)
        if decoded.parse_warnings or (decoded.encoding != "utf-8" and not html_body_declared_encoding(body)):
            continue
        text = _DECLARATION.sub("", _REFERENCE.sub(_character, decoded.text)).replace("\x00", "").lstrip("\ufeff")
        if text.isascii() or text in seen:
            continue
        seen.add(text)
        if (language := _language(text)) is not None:
            yield SavedPage(path.relative_to(corpus.DATA).as_posix(), language, text)


def make_cases(pages, most=100):
    """Return the pages in the encodings of their languages, and all of these pages in UTF-8."""
    chosen, unicode_cases, counts = [], {}, Counter()
    for page in sorted(pages, key=lambda page: xxhash.xxh64_hexdigest(page.text.encode())):
        for label, languages in LANGUAGES.items():
            body = encode(page.text, label) if page.language in languages.split() else None
            if body is not None and counts[label, page.language] < most:
                counts[label, page.language] += 1
                chosen.append(Case(page, label, body))
                unicode_cases[page.name] = Case(page, "UTF-8", page.text.encode())
    return chosen + list(unicode_cases.values())


def read_files(folder):
    """Return the files of the encodings above as cases; an encoding and its subset are the same."""
    labels = {read_label(label): label for label in LANGUAGES}
    cases = []
    for path in sorted(folder.glob("*/*")):
        name, _, language = path.parent.name.rpartition("-")
        named = path.parent.name if read_label(path.parent.name) else name
        label = labels.get(read_label(named))
        try:
            text = _DECLARATION.sub("", path.read_bytes().decode(read_label(named) or "ascii"))
            body = text.encode(read_label(named) or "ascii")
        except UnicodeError:
            continue  # not in the encoding that its folder names
        if label and not body.isascii():
            page = SavedPage(path.name, language if named == name else "other", text)
            cases.append(Case(page, label, body))
    return cases


def encode(text, label):
    """Return a text in an encoding; None if it lacks too many of the text's characters."""
    encoding = read_label(label)
    wide = Counter(character for character in text if not character.isascii())
    held = sum(count for character, count in wide.items() if character.encode(encoding, "ignore"))
    return text.encode(encoding, "xmlcharrefreplace") if held >= _HELD * wide.total() else None


def _character(match):
    code = int(match[1], 16) if match[1] else int(match[2])
    return chr(code) if 0xA0 <= code < 0xD800 or 0xE000 <= code <= 0x10FFFF else match[0]


def _language(text):
    root = parse(text, max_bytes=len(text.encode())).root
    for element in _SCRIPTS(root):
        element.drop_tree()
    text_content = " ".join(root.text_content().split())
    language = "zh" if (code := classify(text_content[:20_000])[0]) == "wuu" else code
    if len(text_content) < _LEAST_TEXT:
        return None
    if language not in LANGUAGES["windows-1252"].split() and _wide(text_content) < _LEAST_CHARACTERS:
        return None  # a few foreign words on a page of ASCII say nothing of its language
    return "zh-t" if language == "zh" and encode("".join(re.findall("[一-鿿]", text_content)), "Big5") else language


def _wide(text):
    return sum(not character.isascii() for character in text)


# Each detector: from the bytes to the label that it names, or None.


def _chardetng():
    def detect(body):
        detector = import_module("chardetng_py").EncodingDetector()
        detector.feed(body, last=True)
        return detector.guess(tld=None, allow_utf8=True)

    return detect


def _chardet():
    chardet = import_module("chardet")
    return lambda body: chardet.detect(body, encoding_era=chardet.EncodingEra.MODERN_WEB)["encoding"]


def _resiliparse():
    detect = import_module("resiliparse.parse.encoding").detect_encoding
    return lambda body: detect(body, html5_compatible=True, from_html_meta=False)


def _charset_normalizer(**flags):
    from_bytes = import_module("charset_normalizer").from_bytes

    def detect(body):
        best = from_bytes(body, **flags).best()
        return best and best.encoding

    return detect


DETECTORS = {
    "chardetng": ("chardetng-py", _chardetng),
    "chardet": ("chardet", _chardet),
    "resiliparse": ("resiliparse", _resiliparse),
    "charset-normalizer": ("charset-normalizer", _charset_normalizer),
    "charset-normalizer, browsers' encodings": (
        "charset-normalizer",
        lambda: _charset_normalizer(cp_isolation=_WHATWG),
    ),
}


def load_detectors():
    """Return the installed detectors by name and version; each returns a text and whether it is in doubt."""
    detectors = {"Blocksieve": _read_ours}
    for name, (package, load) in DETECTORS.items():
        try:
            installed = version(package)
        except PackageNotFoundError:
            continue
        if package != "chardet" or int(installed.partition(".")[0]) >= 7:
            detectors[f"{name} {installed}"] = _reader(load())
    return detectors


def _read_ours(body):
    decoded = decode(body)
    return decoded.text, ParseWarning.CHARSET_IN_DOUBT in decoded.parse_warnings


def _reader(detect):
    def read(body):
        label = detect(body)
        try:
            return body.decode(read_label(label) or label or "cp1252", "replace"), False
        except LookupError:  # an encoding that Python does not have
            return body.decode("cp1252", "replace"), False

    return read


def measure(cases, detectors, *, print_wrong=False):
    """Return the tally of each detector; prints, if asked, the cases in which our answers are wrong."""
    tallies = {name: Tally() for name in detectors}
    for case in cases:
        for name, read in detectors.items():
            start = time.perf_counter()
            text, doubted = read(case.body)
            tallies[name].seconds += time.perf_counter() - start
            right = text == case.text
            tallies[name].right[case.label] += right
            tallies[name].doubted[right] += doubted
            if print_wrong and name == "Blocksieve" and not right:
                print(f"{case.label} {case.page.language} {case.page.name}{' in doubt' if doubted else ''}")
    return tallies


def show(cases, tallies):
    """Return the table of right answers by encoding, and what they cost, as Markdown."""
    languages = defaultdict(Counter)
    for case in cases:
        languages[case.label][case.page.language] += 1
    older = [label for label in LANGUAGES if label in languages]
    groups = {"all older encodings": older, "UTF-8": ["UTF-8"], "all": [*older, "UTF-8"]}
    groups = groups if "UTF-8" in languages else {"all": older}
    lines = [["encoding", "pages by language", "pages", *tallies], ["---", "---", *["---:"] * (1 + len(tallies))]]
    for label in LANGUAGES:
        if label not in languages:
            lines.append([label, "none in the data", "0", *[""] * len(tallies)])
            continue
        told = ", ".join(f"{name} {count}" for name, count in languages[label].most_common())
        lines.append(
            [label, told, str(languages[label].total()), *(str(tally.right[label]) for tally in tallies.values())]
        )
    for name, labels in groups.items():
        of = sum(languages[label].total() for label in labels)
        right = [sum(tally.right[label] for label in labels) for tally in tallies.values()]
        lines.append([f"**{name}**", "", str(of), *(f"{count} ({count / of:.1%})" for count in right)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n\n" + _costs(cases, tallies)


def _costs(cases, tallies):
    costs = ", ".join(f"{name} {1000 * tally.seconds / len(cases):.1f}" for name, tally in tallies.items())
    doubted = tallies["Blocksieve"].doubted
    wrong = len(cases) - tallies["Blocksieve"].right.total()
    return (
        f"The warning `charset_in_doubt` stands at {doubted[False]} of our {wrong} wrong answers "
        f"and at {doubted[True]} right ones. Milliseconds a page: {costs}."
    )


def write(page, table):
    """Put the table and what it was measured with between the marks of a page."""
    before, rest = page.read_text("utf-8").split(MARKS[0])
    measured = f"{table}\n\n{Stamp.of((), DATA_SETS)}"
    page.write_text(f"{before}{MARKS[0]}\n\n{measured}\n\n{MARKS[1]}{rest.split(MARKS[1])[1]}", "utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=Path, metavar="FOLDER", help="measure on these files too")
    parser.add_argument("--most", type=int, default=100, help="pages of each language and encoding")
    parser.add_argument("--wrong", action="store_true", help="print the pages where we are wrong")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="replace the tables in this page")
    options = parser.parse_args()
    if not corpus.DATA.exists():
        parser.error(f"there is no data at {corpus.DATA}; set BLOCKSIEVE_DATA")
    detectors = load_detectors()
    if options.write and not (options.files and len(detectors) == len(DETECTORS) + 1):
        parser.error("--write needs --files and all detectors, also chardet 7: the page has a column for each")
    cases = make_cases(read_pages(), options.most)
    tables = show(cases, measure(cases, detectors, print_wrong=options.wrong))
    if options.files:
        files = read_files(options.files)
        tables += "\n\nThe files in their own encodings:\n\n"
        tables += show(files, measure(files, detectors, print_wrong=options.wrong))
    if options.write:
        write(options.write, tables)
    else:
        print(tables)


if __name__ == "__main__":
    main()
