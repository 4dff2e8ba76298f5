"""Check an installed Blocksieve: every module of its compiled core is used, and pure Python decides the same.

    python check_core.py FOLDER    a folder of pages, such as tests/golden

The exit code is 1 if a module is missing or a decision differs; the pages are named.
"""

import os
import subprocess
import sys
from pathlib import Path

from cleaning import clean
from cleaning._native import COMPILED_NAMES, load_compiled


def described(folder):
    """Return a line for each page with all that `clean` finds."""
    return [f"{page.parent.name} {clean(page.read_bytes())!r}" for page in sorted(folder.glob("*/page.html"))]


def main():
    folder = Path(sys.argv[1])
    if "--lines" in sys.argv:
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")
        print("\n".join(described(folder)))
        return None
    missing = [name for name in COMPILED_NAMES if load_compiled(name) is None]
    if missing:
        return f"these modules of the compiled core are missing or not used: {', '.join(missing)}"
    pure = subprocess.run(
        [sys.executable, __file__, str(folder), "--lines"],
        env=os.environ | {"BLOCKSIEVE_PURE": "1"},
        stdout=subprocess.PIPE,
        check=True,
    ).stdout.decode("utf-8")
    compiled = described(folder)
    different = [
        line.partition(" ")[0] for line, pure_line in zip(compiled, pure.splitlines(), strict=True) if line != pure_line
    ]
    if different or not compiled:
        return f"pure Python decides otherwise on {', '.join(different) or 'nothing: there are no pages'}"
    print(f"{len(COMPILED_NAMES)} modules, {len(compiled)} pages: pure Python decides the same")
    return None


if __name__ == "__main__":
    sys.exit(main())
