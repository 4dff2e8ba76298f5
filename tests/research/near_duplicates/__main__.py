"""What fingerprints find: edits planted in real texts, and different texts that must not be found.

    python tests/research/near_duplicates [--json]

The weightings of `cleaning.fingerprint` at three bits stand beside Jaccard and MinHash on the sets of stems and beside
the digest. Without --json, the tables in docs/near-duplicates.md and the plot beside it are written anew; the prose
there stays. The data is found through BLOCKSIEVE_DATA (default: ../shared/data beside the checkout).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from edits import DATA
from measure import measure

ROOT = Path(__file__).parents[3]
PAGE, PLOT = ROOT / "docs" / "near-duplicates.md", ROOT / "docs" / "near-duplicates.svg"
BEGIN, END = "<!-- made by tests/research/near_duplicates -->", "<!-- end of what is made -->"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print the figures and write no file")
    options = parser.parse_args()
    if not DATA.exists():
        parser.error(f"there is no data at {DATA}; set BLOCKSIEVE_DATA")
    result = measure()
    if options.json:
        print(json.dumps(result, indent=2))
        return
    from show import plot, tables  # noqa: PLC0415 — matplotlib takes a second, and --json needs none

    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n\n{tables(result)}\n\n{END}{after}", encoding="utf-8")
    plot(result, PLOT)


if __name__ == "__main__":
    main()
