"""How right recognised languages are, and what recognising them costs: our detector beside others that are installed.

    python tests/research/languages.py [--json]
    python -m pip install eld lingua-language-detector pycld2    # more detectors

The texts are the main texts of saved pages that state a language in the attribute `lang` of their root. Statements are
not always true: on some pages in isiXhosa or Kiswahili it says `en`, so no detector reaches 1. Each detector runs in a
process of its own, which says how long it took to load, and how much memory that took. The program finds the pages
through BLOCKSIEVE_DATA.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from importlib.util import find_spec

import corpus
import psutil
from rich.console import Console
from rich.table import Table

from cleaning import PageError, clean
from cleaning.metadata.languages import _language_code, load_language_model

DATA_SETS = ("fundus-dev", "snippets-dev", "magic-dev", "sites-dev", "wcxb-dev")
LENGTHS = (2_000, 200, 80)
_SHORTEST = 60
# Norwegian is stated as `no`, or as one of its two written forms.
_SAME = {"no": "nb", "nn": "nb"}


@dataclass
class DetectorCost:
    """What a detector did: milliseconds of CPU to load it, megabytes, milliseconds a text, shares of right codes."""

    detector: str
    load_ms: float
    memory_mb: float
    text_ms: float
    right: dict[str, float] = field(default_factory=dict)


def _ours() -> Callable[[str], str]:
    classify = load_language_model()
    return lambda text: classify(text, 1)[0][0]


def _py3langid() -> Callable[[str], str]:
    from py3langid import classify  # noqa: PLC0415 — its own process only

    classify("")
    return lambda text: classify(text)[0]


def _pycld2() -> Callable[[str], str]:
    import pycld2  # noqa: PLC0415 — its own process only

    return lambda text: pycld2.detect(text, bestEffort=True)[2][0][1]


def _lingua() -> Callable[[str], str]:
    from lingua import LanguageDetectorBuilder  # noqa: PLC0415 — its own process only

    detector = LanguageDetectorBuilder.from_all_languages().with_low_accuracy_mode().build()

    def classify(text: str) -> str:
        language = detector.detect_language_of(text)
        return "" if language is None else language.iso_code_639_1.name

    return classify


def _eld() -> Callable[[str], str]:
    from eld import LanguageDetector  # noqa: PLC0415 — its own process only

    detector = LanguageDetector()
    return lambda text: detector.detect(text).language or ""


DETECTORS = {
    "fasttext": ("fastText lid.176, compressed (ours)", _ours),
    "py3langid": ("py3langid", _py3langid),
    "pycld2": ("pycld2", _pycld2),
    "lingua": ("lingua, low accuracy mode", _lingua),
    "eld": ("eld", _eld),
}


def read_texts() -> list[tuple[str, str]]:
    """Return the stated codes and the main texts of the pages."""
    texts = []
    for sample in (sample for name in DATA_SETS for sample in corpus.read_samples(name)):
        try:
            page = clean(sample.body, sample.url)
        except PageError:
            continue
        root = None if page.source is None else page.source.page.root
        stated = None if root is None else _language_code(root.get("lang") or "")
        if stated is not None and len(page.text) >= _SHORTEST:
            texts.append((stated, page.text[: LENGTHS[0]]))
    return texts


def measure(module: str, texts: list[tuple[str, str]]) -> DetectorCost:
    """Load a detector in this process, and return its cost and how often it is right."""
    name, load = DETECTORS[module]
    process = psutil.Process()
    memory, start = process.memory_info().rss, time.process_time()
    detect = load()
    detect("The first text.")
    loaded = time.process_time()
    taken = process.memory_info().rss - memory
    cost = DetectorCost(name, (loaded - start) * 1e3, taken / 1e6, 0)
    for length in LENGTHS:
        codes = [_code_of(detect(text[:length])) for _, text in texts]
        right = sum(code == _SAME.get(stated, stated) for code, (stated, _) in zip(codes, texts, strict=True))
        cost.right[str(length)] = right / len(texts)
    cost.text_ms = (time.process_time() - loaded) * 1e3 / (len(LENGTHS) * len(texts))
    return cost


def _code_of(label: str) -> str | None:
    code = _language_code(label)
    return None if code is None else _SAME.get(code, code)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--measure", choices=DETECTORS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(asdict(measure(options.measure, json.load(sys.stdin)))))
        return
    texts = json.dumps(read_texts())
    costs = []
    for module in filter(find_spec, DETECTORS):
        command = [sys.executable, __file__, "--measure", module]
        process = subprocess.run(command, input=texts, stdout=subprocess.PIPE, text=True, check=True)
        costs.append(DetectorCost(**json.loads(process.stdout)))
    if options.json:
        print(json.dumps([asdict(cost) for cost in costs], indent=2))
        return
    table = Table(title=f"{len(json.loads(texts)):,} texts")
    for column in ("detector", "load, ms", "memory, MB", "a text, ms", *(f"{length} characters" for length in LENGTHS)):
        table.add_column(column, justify="left" if column == "detector" else "right")
    for cost in costs:
        figures = (f"{cost.load_ms:.0f}", f"{cost.memory_mb:.0f}", f"{cost.text_ms:.2f}")
        table.add_row(cost.detector, *figures, *(f"{share:.4f}" for share in cost.right.values()))
    Console().print(table)


if __name__ == "__main__":
    main()
