"""The reference page of the settings."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_reference_page_is_what_the_declarations_say():
    written = subprocess.run([sys.executable, "-m", "crawler.config"], cwd=ROOT, capture_output=True, check=True)
    page = (ROOT / "docs" / "settings.md").read_bytes()
    assert page == written.stdout, "run: python -m crawler.config > docs/settings.md"
