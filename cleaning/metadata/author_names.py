"""Names of people in short texts: `read_names("Written by Ann Lee and Bo Ek")` gives `["Ann Lee", "Bo Ek"]`."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING

from cleaning.metadata.site_names import letters_of
from cleaning.metadata.statements import tidy_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_BETWEEN_NAMES = re.compile(r"\s*[;,&|]\s*(?:and\s+)?|\s+and\s+")
_MAX_NAME_CHARS = 60
_MIN_NAME_CHARS = 2  # a shorter text replaces a picture
_MAX_NAME_WORDS = 6
_MAX_TEXT_CHARS = 200
_MAX_PIECES = 24
_MAX_NAMES = 20
# Words before a name in a byline. The languages: English, German, French, Spanish, Portuguese, Italian, Catalan,
# Romanian, Dutch, the Scandinavian ones, Finnish, Hungarian, Polish, Czech, Russian, Ukrainian, Turkish, Greek, Arabic,
# Persian, Hindi, Indonesian, Vietnamese, Chinese, Japanese, Korean.
BYLINE_WORDS = (
    "by|written by|authored by|posted by|post by|published by|reviewed by|words by|story by|text by|article by"
    "|recipe by|created by|submitted by|contributed by|guest post by|author|authors|post author|article author"
    "|written and published by|view all posts by|all posts by|posts by|articles by|more from|more by|read more from"
    "|von|geschrieben von|verfasst von|eingestellt von|veröffentlicht von|erstellt von|gepostet von|ein beitrag von"
    "|beitrag von|artikel von|text von|ein artikel von|ein gastbeitrag von|gastbeitrag von|alle beiträge von"
    "|eine kolumne von|kolumne von|ein interview von|ein kommentar von|kommentar von|ein bericht von|bericht von"
    "|eine reportage von|reportage von|eine analyse von|analyse von|ein essay von|essay von|rezension von"
    "|column by|opinion by|analysis by|commentary by|review by|report by|interview by|essay by"
    "|un article de|une chronique de|chronique de|une tribune de|tribune de|reportage de|entretien réalisé par"
    "|un artículo de|artículo de|columna de|crónica de|un articolo di|intervista di|recensione di"
    "|zeige alle beiträge von|alle artikel von|alles von|mehr von|interview von"
    "|autor|autorin|autoren|autor:in|autor/in|autor*in|verfasser"
    "|par|écrit par|publié par|rédigé par|posté par|propos recueillis par|article de|texte de|auteur|auteurs|auteure"
    "|por|escrito por|publicado por|postado por|redactado por|una nota de|texto de|autora|autores"
    "|ver todas las entradas de"
    "|di|scritto da|pubblicato da|a cura di|articolo di|autore|autrice|autori|scris de|publicat de|escrit per"
    "|publicat per|door|geschreven door|geplaatst door|gepost door|af|skrevet af|av|skrevet av|skriven av|text av"
    "|publicerad av|publisert av|skribent|forfatter|författare|kirjoittaja|írta|szerző|szerzők"
    "|autorzy|napisał|napisała|opublikowane przez|dodano przez|przez|napsal|napsala|vložil|autoři"
    "|автор|авторы|автори|yazan|yazar|συντάκτης|بقلم|كتبه|كتب|نویسنده|نوشته|लेखक|द्वारा|oleh|penulis|tác giả"
    "|作者|文|记者|記者|撰文|著者|執筆者|執筆|ライター|文責"
).split("|")
# These need a colon, or stand alone before a name.
_BYLINE_LABELS = (
    "text|texte|texto|testo|tekst|teksti|текст|text und interview|text und foto|text & foto|text und fotos|text/foto"
    "|interview|редактор|编辑|編輯|责任编辑|글|contributor|contributors"
).split("|")


def _any_of(words: list[str]) -> str:
    return "|".join(map(re.escape, sorted(words, key=len, reverse=True)))


_COLON = r"\s*[:\uff1a/]\s*"
_BYLINE = re.compile(
    rf"(?:{_any_of(BYLINE_WORDS)})(?:{_COLON}|\s+|$)|(?:{_any_of(_BYLINE_LABELS)})(?:{_COLON}|$)|redaktion{_COLON}",
    re.IGNORECASE,
)
_MARKS_BEFORE = re.compile(r"[\s\u00a9|•·–—:;,-]+")
_PARTICLE = re.compile(r"(?:von|di|door|av|af|par|autor)\s", re.IGNORECASE)  # also the beginning of names
_PART = re.compile(
    r" ?[|•·–—»/(\[] ?| - | @|\t| ?\b(?=\d{1,4}[./-]\d|\d{4}年)|, ?(?=\d)"
    r"| (?:[Ff]or|FOR) (?=the |[A-Z])"
    r"| (?=\d{1,2}\.? \S{1,20} \d{4})| (?=(?:on|am|le|el|em|il|vom|um) \d)| on (?=\w+day\b)"
)
_SEPARATOR_WORDS = "and|und|et|y|e|och|og|en|i|и|та|ve|و|और|和|与"
_NAME_SEPARATOR = re.compile(rf"\s*(?:[,;&、\uff0c\uff1b]|\s(?:{_SEPARATOR_WORDS})\s)\s*", re.IGNORECASE)
_BETWEEN = re.compile(rf"[\s,;&/|+·•、-]*(?:{_SEPARATOR_WORDS})?[\s,;&/|+·•、-]*", re.IGNORECASE)
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
# The last alternative is a key of a template that was never filled in.
_NO_NAME = re.compile(
    r"https?:|www\.|^//|@\S+\.|^@|(?:^|\W)\d{4}|[{}<>=\\]|^\W*$|(?:^|\s)\d{1,2}(?:$|[\s.,])|^\w+(?:\.\w+){2,}$"
    r"|[.!?]{2}|\?$|!$|[\u201e\u00ab\u00bb:]$"
)
_EMAIL = re.compile(r"\S+@\S+\.\S+|\(?@\w+\)?")
_LABEL = re.compile(rf"(?:{_any_of(BYLINE_WORDS + _BYLINE_LABELS)})[:\s\uff1a]*", re.IGNORECASE)
# Accounts, and labels beside the name in an author's box.
_NO_NAMES = frozenset(
    "admin administrator root webmaster wordpressadmin siteadmin superuser user users guest anonymous anonymus"
    " noauthor undefined null none unknown na author authors topicauthor abouttheauthor abouttheauthors"
    " abouttheteam post beitrag beiträge comment comments review reviews category datum date vom am published"
    " updated share learnmore readmore insightsfrom writtenby shopall shop editor editors contributors contributor"
    " follow profile website autoren autoreninfo überdenautor überdieautorin zumautor rechtsanwalt zvg archiv"
    " redacción quelle source foto photo bild red about"
    " monday tuesday wednesday thursday friday saturday sunday"
    " montag dienstag mittwoch donnerstag freitag samstag sonntag"
    " lundi mardi mercredi jeudi vendredi samedi dimanche lunes martes miércoles jueves viernes sábado domingo"
    " 发表于 發表於 发布于 發布於 الأحد الاثنين الثلاثاء الأربعاء الخميس الجمعة السبت".split()
)
# Words before a date, which stands beside the names of many bylines.
_DATE_LABEL = re.compile(
    r"(?:first |last |zuletzt |dernière )?(?:submitted|published|posted|updated|modified|created|added|written|revised"
    r"|edited|filed|released|veröffentlicht|aktualisiert|erstellt|erschienen|eingestellt|geändert|geschrieben|publiée?|postée?"
    r"|mise? à jour|mise? en ligne|publicad[oa]|actualizad[oa]|atualizad[oa]|pubblicat[oa]|aggiornat[oa]|gepubliceerd"
    r"|geplaatst|bijgewerkt|publicerad|uppdaterad|publisert|oppdatert|offentliggjort|opdateret|julkaistu|päivitetty"
    r"|opublikowan[oy]|dodano|zaktualizowano|publikováno|zveřejněno|aktualizováno|megjelent|frissítve|опубликовано|опубликована"
    r"|обновлено|опубліковано|оновлено)(?: (?:on|at|am|le|el|il|em|op|den|dne|dnia|in|en))?",
    re.IGNORECASE,
)
_COMPANY = re.compile(
    r"\b(?:inc|ltd|llc|gmbh|ag|sa|co|corp|corporation|company|eg|e\.v|team|staff|editors?|editorial|desk|newsroom|redaktion"
    r"|redacción|redação|redazione|rédaction|redactie|press|agency|agencies|agencia|news|media|magazine|magazin|verlag"
    r"|university|universität|institute|institut|association|foundation|stiftung|verband|group|services|department"
    r"|official|online|web|company|contributors|community|blog|dpa|afp|efe|reuters|ap|apa|ots)\b",
    re.IGNORECASE,
)
_LEGAL_FORM = re.compile(r"(?:inc|ltd|llc|gmbh|ag|sa|co|corp|corporation|company|eg|e\.v)\.?", re.IGNORECASE)
_ROLE = re.compile(
    r"\b(?:writer|editor|reporter|correspondent|contributor|columnist|journalist|redakteur(?:in)?|author|autor(?:in)?"
    r"|founder|ceo|cto|manager|director|expert|specialist|analyst|consultant|professor|photographer|fotograf)\b",
    re.IGNORECASE,
)
_PERSON_WORD = re.compile(
    r"[^\W\d_a-z][\w'\u2019.-]*|(?:de|da|do|del|della|der|den|di|du|la|le|van|von|vom|zu|zur|al|el|bin|ibn|ter|y|e|dos)"
)


def read_names(text: str) -> list[str]:
    """Return the names in a byline, without the words before them; empty for a text without a name (a URL, a date)."""
    bare = _strip_byline_words(text[:_MAX_TEXT_CHARS]).strip(' ,;:|-\u2013\u2014"\u201c\u201d')
    parts = [part for part in _NAME_SEPARATOR.split(bare) if part]
    # A part of one word is a title, a family name before the first name, or a part of a company's name.
    if not all(" " in part or _UNSPACED.search(part) for part in parts):
        parts = parts[:1] if _is_with_desk(parts) else [bare]
    names = [name for part in parts if (name := _bare_name(part))]
    return [name for name in names if name is names[0] or not _ROLE.search(name)][:_MAX_NAMES]


def _is_with_desk(parts: Sequence[str]) -> bool:
    """Return True for a person followed by what they are or where they work: `Ann Lee, Online-Redaktion`."""
    return bool(parts) and is_person(parts[0]) and all(map(_is_desk, parts[1:]))


def _is_desk(part: str) -> bool:
    return _LEGAL_FORM.fullmatch(part) is None and (is_company(part) or _ROLE.search(part) is not None)


def read_shown_names(pieces: Iterable[str]) -> list[str]:
    """Return the names at the beginning of a visible byline; the pieces are the texts of its elements."""
    names: list[str] = []
    joined = True
    for piece in islice(pieces, _MAX_PIECES):
        plain = tidy_text(piece) or ""
        if not plain or is_label(plain):
            continue
        between = _BETWEEN.match(plain)
        rest = plain[between.end() :] if between else plain
        if not rest:
            joined = True
            continue
        if names and not joined and rest is plain:
            break
        leading = [name for name in leading_names(rest if names else plain) if not names or _goes_on(name)]
        if not leading:
            break
        names += leading
        joined = False
        if not plain.endswith(leading[-1]):
            joined = _BETWEEN.fullmatch(plain.rpartition(leading[-1])[2]) is not None
            if not joined:
                break
    return list(dict.fromkeys(names))[:_MAX_NAMES]


def _goes_on(name: str) -> bool:
    """Return True if a text after a name may be another name: no role, and no word such as `others`."""
    return not name[0].islower() and _ROLE.search(name) is None


def leading_names(text: str) -> list[str]:
    """Return the names at the beginning of a visible text; empty if there are none."""
    bare = _strip_byline_words(text).strip()
    if match := _PARTICLE.match(bare):  # a byline is shown more often than half a name
        bare = bare[match.end() :]
    part = _PART.split(bare, maxsplit=1)[0].strip(" ,;:|-")
    names = [name for name in read_names(part) if len(name.split()) <= _MAX_NAME_WORDS]
    return [name for name in names if len(name) >= _MIN_NAME_CHARS]


def _strip_byline_words(text: str) -> str:
    """Return a byline without the words before the name (`By`, `Written by`)."""
    for _ in range(2):
        match = _MARKS_BEFORE.match(text)
        text = text[match.end() :] if match else text
        match = _BYLINE.match(text)
        if match is None or (_PARTICLE.match(text) and " " not in text[match.end() :]):
            break
        text = text[match.end() :]
    return text


def match_byline(text: str) -> re.Match[str] | None:
    """Return the words of a byline at the beginning of a text."""
    return _BYLINE.match(text)


def is_label(text: str) -> bool:
    """Return True for a text that is only the words before a name."""
    return _LABEL.fullmatch(text) is not None


def is_person(name: str) -> bool:
    """Return True if a name looks like that of a person: two to five words that begin with capitals."""
    words = name.split()
    return 2 <= len(words) <= 5 and all(map(_PERSON_WORD.fullmatch, words))  # noqa: PLR2004 — as said


def is_company(name: str) -> bool:
    """Return True if a name has a word of companies, teams or agencies."""
    return _COMPANY.search(name) is not None


def split_names(text: str) -> frozenset[str]:
    """Return the names in a list of names, as they are compared with others.

    >>> sorted(split_names("Ann Lee, Bo Ek and C. Roe"))
    ['ann lee', 'bo ek', 'c roe']
    """
    return frozenset(name for part in _BETWEEN_NAMES.split(text) if (name := fold_name(part)))


def fold_name(name: str) -> str:
    """Return a name as it is compared with others: in lower case, without full stops."""
    return " ".join(name.casefold().replace(".", " ").replace("\u2019", "'").split())


def _bare_name(text: str) -> str | None:
    name = (
        _EMAIL.sub("", text).strip(' ,;:|-\u2013\u2014"\u201c\u201d()\u00a9') if "@" in text else text.strip(" :\u00a9")
    )
    if not 0 < len(name) <= _MAX_NAME_CHARS or _NO_NAME.search(name) or is_label(name):
        return None
    return None if letters_of(name) in _NO_NAMES or _DATE_LABEL.fullmatch(name) else name
