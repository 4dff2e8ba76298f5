"""The reference page of commands, and the lists of columns, made from what the program declares.

    python tests/support/reference.py

This writes docs/commands.md, and in other pages the columns of pages and exports. docs/settings.md is written by
`python -m crawler.config`.
"""

import argparse
import re
from pathlib import Path

from documented import command_of

from crawler.commands import lazy
from crawler.reading.exports.rows import EXPORT_COLUMNS
from crawler.storage.page_columns import PAGE_COLUMN_NAMES, PAGE_COLUMNS

ROOT = Path(__file__).parents[2]
WRITER = "<!-- `python tests/support/reference.py` writes this page. Do not edit it by hand. -->"
COMMANDS_HEAD = f"""# Commands

{WRITER}

A command with `--help` prints what stands here. Every command also takes Scrapy's options: `-s NAME=VALUE` sets a
[setting](settings.md), `-L LEVEL` the log level, and `--nolog` and `--logfile FILE` say where the log goes. Values in
capital letters are yours to fill in.
"""


def commands_page():
    """Return docs/commands.md."""
    verbs = sorted(name.replace("import_tables", "import") for name in vars(lazy) if is_command(name))
    return "\n".join([COMMANDS_HEAD, *map(command_section, verbs)])


def is_command(name):
    return isinstance(getattr(lazy, name), type) and "place" in vars(getattr(lazy, name)) and "our_project" not in name


def command_section(verb):
    command = command_of(verb)
    parser = argparse.ArgumentParser(prog="scrapy", add_help=False)
    command.add_options(parser)
    shown = [option for option in parser._actions if option.help != argparse.SUPPRESS]
    own = [option for option in shown if option.container.title != "Global Options"]
    parts = [f"## `scrapy {verb}`", f"{command.short_desc().rstrip('.')}.", f"```text\n{usage(verb, command)}\n```"]
    if (said := escape(command.long_desc())) != escape(command.short_desc()):
        parts.append(said)
    if own:
        rows = [f"| {shown_option(option)} | {said_of(option, parser)} |" for option in own]
        parts.append("\n".join(["| option | |", "| --- | --- |", *rows]))
    return "\n\n".join(parts) + "\n"


def usage(verb, command):
    return f"scrapy {verb} {command.syntax()}".rstrip()


def shown_option(option):
    named = option.metavar or (
        "{" + ",".join(map(str, option.choices)) + "}" if option.choices else option.dest.upper()
    )
    value = "" if option.nargs == 0 else f" {named}"
    value = f" [{value.strip()}]" if option.nargs == "?" else value
    return ", ".join(f"`{name}{value}`" for name in option.option_strings) or f"`{option.metavar or option.dest}`"


def said_of(option, parser):
    """Return the help of an option with its default filled in, as argparse does; not the cores of this machine."""
    said = parser._get_formatter()._expand_help(option) if option.help else ""
    return escape(re.sub(r", here \d+", "", said))


def escape(text):
    """Return a text as Markdown shows it, on one line."""
    return re.sub(r"([|<>*_\[\]])", r"\\\1", " ".join(text.split()))


def crawl_page():
    """Return docs/crawl.md with the columns of pages among the fields of feeds."""
    rows = [f"| `{column.name}` | {column.meaning} |" for column in PAGE_COLUMNS]
    return replaced("crawl.md", r"(?<=\| field \| \|\n\| --- \| --- \|\n).*?(?=\| `modified`)", "\n".join([*rows, ""]))


def database_page():
    """Return docs/database.md with the columns of pages in the view, and in the table `page`."""
    names = ", ".join(f"`{name}`" for name in PAGE_COLUMN_NAMES)
    return replaced(
        "database.md",
        r"(?<=\| `page_id`, )`url`.*?(?= \| columns of its page \|)|(?<=\| a page \| `id`, )`url`.*?(?=, `url_key` )",
        names,
    )


def export_page():
    """Return docs/export.md with the columns of exports, and which kinds of export have each."""
    kinds = {}
    for content, columns in EXPORT_COLUMNS.items():
        for column in columns:
            kinds.setdefault((column.name, column.kind, column.meaning), []).append(content.value)
    rows = [
        f"| `{name}` | {kind} | {'all' if len(contents) == len(EXPORT_COLUMNS) else ', '.join(contents)} | {meaning} |"
        for (name, kind, meaning), contents in kinds.items()
    ]
    table = r"(?<=\| column \| type \| in \| \|\n\| --- \| --- \| --- \| --- \|\n).*?\n(?=\n)"
    return replaced("export.md", table, "\n".join([*rows, ""]))


def replaced(name, pattern, text):
    return re.sub(pattern, lambda _: text, read_page(name), flags=re.DOTALL)


def read_page(name):
    return (ROOT / "docs" / name).read_text("utf-8")


PAGES = {
    "commands.md": commands_page,
    "crawl.md": crawl_page,
    "database.md": database_page,
    "export.md": export_page,
}

if __name__ == "__main__":
    for name, make in PAGES.items():
        (ROOT / "docs" / name).write_text(make(), "utf-8")
