"""Made-up training data: two sets of pages of many hosts, of words drawn from a few, with a menu and a foot."""

import gzip
import json
import random

WORDS = (
    "harbour lantern winter council bridge market garden copper willow engine season letter north river method sample "
    "station valley record morning theatre marble figure silver window anchor island number pattern harvest"
).split()
SETS = ("fundus-dev", "wcxb-dev")
TYPES = ("article", "forum", "product", "collection", "listing", "documentation", "service")


def write(folder, pages=30, hosts=None):
    """Write two sets of so many pages, each of a host of its own unless there are fewer hosts; return the folder."""
    drawn = random.Random(5)
    for name in SETS:
        place = folder / "extraction" / name
        (place / "html").mkdir(parents=True)
        rows = [_page(drawn, place, number, f"{name}-{number % (hosts or pages)}.example") for number in range(pages)]
        (place / "truth.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return folder


def _page(drawn, place, number, host):
    paragraphs = [_sentence(drawn) for _ in range(drawn.randint(4, 9))]
    links = "".join(f'<li><a href="/{word}">{word} {drawn.choice(WORDS)}</a></li>' for word in drawn.sample(WORDS, 6))
    body = (
        f"<title>Page {number}</title><body><nav class='menu'><ul>{links}</ul></nav><main class='content'>"
        + "".join(f"<p>{text}</p>" for text in paragraphs)
        + f"</main><aside class='related'><h3>More</h3><p>{_sentence(drawn)}</p></aside>"
        + "<footer class='footer'><p>All rights reserved. Imprint, privacy and terms of use of this site.</p></footer>"
    )
    path = f"html/{number}.html.gz"
    (place / path).write_bytes(gzip.compress(body.encode(), mtime=0))
    row = {"id": f"{host}_{number}", "url": f"https://{host}/{number}", "html_path": path}
    row |= {"text": "\n".join(paragraphs)}
    return row | ({"type": TYPES[number % len(TYPES)]} if place.name == "wcxb-dev" else {})


def _sentence(drawn):
    return " ".join(drawn.choices(WORDS, k=drawn.randint(12, 30))).capitalize() + "."
