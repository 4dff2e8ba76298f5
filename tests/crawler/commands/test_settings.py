"""`scrapy settings`: Scrapy's options and `--explain`."""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from scrapy.exceptions import UsageError
from scrapy.settings import Settings

from crawler.commands.settings import SettingsCommand, _group_line
from crawler.config import declared_settings, themes
from crawler.config.explanation import explain_settings


@pytest.fixture
def run(capsys):
    """Run the command in this process and return what it prints."""

    def command(*arguments, **values):
        settings_command = SettingsCommand()
        settings_command.settings = Settings(values)
        parser = argparse.ArgumentParser(conflict_handler="resolve")
        settings_command.add_options(parser)
        opts = parser.parse_args(arguments)
        settings_command.run([], opts)
        return capsys.readouterr().out

    return command


def test_a_setting_is_explained_on_the_terminal(scrapy):
    printed = scrapy("settings", "--explain", "DEDUP_DISTANCE", "-s", "DEDUP_DISTANCE=2")
    assert (printed.returncode, printed.stderr) == (0, "")
    assert printed.stdout.splitlines()[0] == "DEDUP_DISTANCE"
    assert "value    2, set by: command line" in printed.stdout


def test_an_unknown_setting_has_exit_code_2_and_names_the_most_similar(scrapy):
    failed = scrapy("settings", "--explain", "DEDUP_SCOP")
    assert (failed.returncode, failed.stdout) == (2, "")
    assert "there is no setting 'DEDUP_SCOP'; did you mean 'DEDUP_SCOPE'?" in failed.stderr


def test_scrapys_own_options_still_work(run):
    assert run("--get", "BOT_NAME", BOT_NAME="digger") == "digger\n"
    assert run("--getbool", "COOKIES_ENABLED", COOKIES_ENABLED="1") == "True\n"
    assert run("--getint", "RETRY_TIMES", RETRY_TIMES="4") == "4\n"
    assert run("--getfloat", "DOWNLOAD_DELAY", DOWNLOAD_DELAY="2") == "2.0\n"
    assert run("--getlist", "SPIDER_MODULES", SPIDER_MODULES="a,b") == "['a', 'b']\n"


def test_the_options_of_scrapy_know_our_defaults(run):
    assert run("--get", "DATABASE_URL") == "sqlite:///blocks.db\n"
    assert run("--getbool", "KEEP_HTML") == "True\n"
    assert run("--getint", "DEDUP_DISTANCE") == "3\n"
    assert run("--getint", "DEDUP_DISTANCE", DEDUP_DISTANCE="2") == "2\n"
    assert run("--get", "NOT_OURS") == "None\n"


def test_all_settings_are_printed_in_groups_with_a_line_each(run):
    lines = run("--explain", DEDUP_SCOPE="site").splitlines()
    names = [line.split()[0] for line in lines if line.startswith("  ")]
    assert sorted(names) == sorted(declared_settings())
    titles = [line for line in lines[:-1] if line and not line.startswith(" ")]
    assert titles == [theme.title for theme in themes()]
    (scope,) = [line for line in lines if line.startswith("  DEDUP_SCOPE ")]
    assert " site (project) " in scope
    assert lines.index("Duplicates and boilerplate") < lines.index(scope) < lines.index("Frontier")
    assert max(map(len, lines)) <= 160


def test_a_line_of_a_setting_fits_a_terminal_and_ends_at_a_word():
    for setting in explain_settings(Settings()):
        line = _group_line(setting, 30, 80).plain
        assert len(line) <= max(80, len(str(setting.value)) + 60)
        *_, word = line.rstrip("…").split()
        assert word.rstrip(".,;:") in {known.rstrip(".,;:") for known in setting.help.split()}


def test_json_contains_one_setting_or_all(run):
    setting = json.loads(run("--explain", "DEDUP_SCOPE", "--json"))
    assert (setting["default"], setting["choices"]) == ("all", ["all", "site", "page", "off"])
    assert setting in json.loads(run("--explain", "--json"))


def test_an_invalid_value_is_marked_in_words(run):
    assert "9 (not allowed)" in run("--explain", DEDUP_DISTANCE=9)
    assert "A crawl would stop: DEDUP_DISTANCE is 9" in run("--explain", "DEDUP_DISTANCE", DEDUP_DISTANCE=9)


def test_control_characters_are_not_printed(run):
    assert "\x1b" not in run("--explain", "CONTACT", CONTACT="\x1b[2J") + run("--explain", CONTACT="\x1b[2J")
    with pytest.raises(UsageError) as error:
        run("--explain", "\x1b[2J")
    assert "\x1b" not in str(error.value)


def test_output_that_cannot_be_written_is_one_sentence_and_exit_code_1(environment):
    command = [sys.executable, "-m", "scrapy", "settings", "--explain", "--json"]
    with Path("/dev/full").open("w") as full:
        failed = subprocess.run(command, env=environment, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (failed.returncode, failed.stderr) == (1, "the output cannot be written: No space left on device\n")


def test_the_arguments_of_a_spider_are_listed(run):
    output = run("--spider", "section", SPIDER_MODULES=["spiders"])
    rows = {line.split()[1]: line for line in output.splitlines() if line.startswith("│")}
    assert "required" in rows["url"]
    assert "1 to 100000" in rows["pages"]
    assert "fresh" in rows
    listed = json.loads(run("--spider", "section", "--json", SPIDER_MODULES=["spiders"]))
    assert listed[0] == {
        "name": "url",
        "type": "URL",
        "default": None,
        "is_required": True,
        "allowed": "URL",
        "help": "Address of the section.",
    }


@pytest.mark.parametrize(
    ("modules", "says"),
    [(["spiders"], "did you mean 'section'?"), ([], "set SCRAPY_SETTINGS_MODULE=crawler.settings")],
)
def test_the_arguments_of_an_unknown_spider_are_an_error(run, modules, says):
    with pytest.raises(UsageError, match=f"there is no spider 'sektion'.*{re.escape(says)}"):
        run("--spider", "sektion", SPIDER_MODULES=modules)
