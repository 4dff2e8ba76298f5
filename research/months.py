"""Write cleaning/data/months.toml: the names of the months in the languages of CLDR that pages are written in.

    python research/months.py > cleaning/data/months.toml

The names are those of Unicode CLDR (Unicode License v3), as Babel has them: of each language and its regions, full and
abbreviated, alone and within a date. They are folded as `cleaning.metadata.date_texts` folds a text. A name that two
languages give to different months stands in the tables of both. The table for all languages has every name, with the
month of most languages.
"""

from __future__ import annotations

import re
from collections import defaultdict
from textwrap import fill

from babel import Locale, localedata

from cleaning.metadata.date_texts import fold

LANGUAGES = (
    "af am ar az be bg bn bs ca cs cy da de el en es et eu fa fi fil fr ga gl gu he hi hr hu hy id is it ka kk km kn"
    " ky lb lo lt lv mk ml mn mr ms mt my nb ne nl nn no pa pl ps pt ro ru si sk sl so sq sr sv sw ta te th tk tr uk"
    " ur uz zu"
).split()
# Written on pages, though CLDR has other forms.
MORE = {
    "en": {9: ["sept"]},
    "es": {9: ["set", "sept"]},
    "pt": {5: ["maio"]},
    "it": {9: ["sett"]},
    "de": {3: ["mrz"], 1: ["jaenner"]},
    "ar": {1: ["كانونالثاني"], 10: ["تشرينالاول"], 11: ["تشرينالثاني"], 12: ["كانونالاول"]},
    "uk": {11: ["лис"]},
    "ro": {1: ["ian"], 5: ["mai"], 7: ["iul"]},
}
MIN_CHARS = 3  # "ma" of Hungarian and "no" of Norwegian stand in any text
APOSTROPHE = re.compile("^d[\u2019\x27]")  # d’octubre
OTHER_SCRIPTS = re.compile("_(?:Shaw|Dsrt)")  # hardly any page is written in them
NAME = re.compile(r"[^\d\s.,;:/|()_-]+")


def month_names():
    """Return the months (1 to 12) of each name, each with the languages that use it."""
    names = defaultdict(lambda: defaultdict(set))
    for identifier in localedata.locale_identifiers():
        language = identifier.partition("_")[0]
        if language not in LANGUAGES or OTHER_SCRIPTS.search(identifier):
            continue
        for context in Locale.parse(identifier).months.values():
            for width in ("wide", "abbreviated"):
                for month, text in context.get(width, {}).items():
                    names[APOSTROPHE.sub("", fold(text)).strip(" .\u05f3")][month].add(language)
    for language, months in MORE.items():
        for month, texts in months.items():
            for text in texts:
                names[text][month].add(language)
    return {
        name: months
        for name, months in names.items()
        if NAME.fullmatch(name) and (len(name) >= MIN_CHARS or not name.isascii())
    }


def tables(names):
    """Yield the name of each table and its names by month: "any" first, then the languages with names of their own."""
    shared = defaultdict(list)
    own = defaultdict(lambda: defaultdict(list))
    for name, months in sorted(names.items()):
        if len(months) == 1:
            shared[next(iter(months))].append(name)
            continue
        most = max(months, key=lambda month: len(months[month]))
        shared[most].append(name)
        for month, languages in months.items():
            for language in languages:
                own[language][month].append(name)
    yield "any", shared
    yield from sorted(own.items())


def main():
    print("# Names of months, folded. Written by research/months.py from Unicode CLDR (Unicode License v3).")
    for language, months in tables(month_names()):
        print(f"\n[{language}]")
        for month, texts in sorted(months.items()):
            print(f'{month} = """\n{fill(" ".join(texts), 118, break_long_words=False, break_on_hyphens=False)}"""')


if __name__ == "__main__":
    main()
