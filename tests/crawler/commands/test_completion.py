"""`scrapy completion`: scripts that complete commands, spiders, options and their values."""

import shutil
import subprocess

import pytest

LINES = {
    "scrapy cra": ["crawl"],
    "scrapy crawl e": ["ezine"],
    "scrapy crawl section -a u": ["url="],
    "scrapy crawl section -a url=x -a pa": ["pages="],
    "scrapy crawl -s CLEANING_M": ["CLEANING_METHOD="],
    "scrapy crawl ezine -L D": ["DEBUG"],
    "scrapy explain --meth": ["--method"],
    "scrapy explain --method pa": ["pab"],
    "scrapy explain pag": ["page.html"],
    "scrapy settings --explain METRICS_": ["METRICS_SECONDS"],
    "scrapy parse --spider n": ["news"],
    "scrapy completion z": ["zsh"],
}
TRY = """
source "$1"; shift
for line in "$@"; do
    read -ra COMP_WORDS <<< "$line"; COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMPREPLY=()
    _shtab_scrapy; echo "${COMPREPLY[*]}"
done
"""


def test_bash_completes_commands_spiders_options_and_values(scrapy, tmp_path):
    done = scrapy("completion", "bash")
    assert (done.returncode, done.stderr) == (0, "")
    script = tmp_path / "scrapy.bash"
    script.write_text(done.stdout)
    (tmp_path / "page.html").touch()
    tried = subprocess.run(
        ["bash", "-c", TRY, "bash", script, *LINES], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert tried.stderr == ""
    assert dict(zip(LINES, map(str.split, tried.stdout.splitlines()), strict=True)) == LINES


@pytest.mark.parametrize(("shell", "first"), [("zsh", "#compdef scrapy"), ("fish", "complete -c scrapy")])
def test_other_shells_get_scripts_of_their_own(scrapy, tmp_path, shell, first):
    done = scrapy("completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert first in done.stdout
    for name in ("ezine", "--method", "CLEANING_METHOD="):
        assert name in done.stdout
    if shutil.which(shell):
        (tmp_path / "script").write_text(done.stdout)
        subprocess.run([shell, "-n", tmp_path / "script"], check=True)


def test_an_unknown_shell_is_2(scrapy):
    failed = scrapy("completion", "tcsh")
    assert (failed.returncode, failed.stdout) == (2, "")
    assert "name one shell: bash, zsh, fish" in failed.stderr
