"""Formulas: the TeX of a `math`, KaTeX or MathJax element, of an image with TeX, and of TeX written into a text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from cleaning.structure.nodes import NodeType, StructureNode
from cleaning.terms import normalise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lxml.html import HtmlElement

    from cleaning.structure.elements import Attributes

# The elements in which formula scripts put one formula, by a class. The text inside them is not read.
_FORMULA_CLASSES = frozenset(
    "katex katex-display MathJax MathJax_Display MathJax_SVG MathJax_CHTML mjx-chtml mwe-math-element".split()
)
_DISPLAY_CLASSES = frozenset(
    "katex-display MathJax_Display MJXc-display mwe-math-fallback-image-display math-block math-display".split()
)
_TEX_ATTRIBUTES = ("data-tex", "data-latex", "data-math", "data-formula")
_FORMULA_TAGS = frozenset(["math", "mjx-container", "script"])
# A class that one of the sets below may have; "text" is in many others.
_MAYBE = re.compile("math|mjx|tex(?!t)", re.IGNORECASE)
# Elements whose text is TeX between marks, until a script typesets it.
_TEX_TEXT_CLASSES = frozenset("math math-container math-inline math-display math-tex arithmatex tex".split())
# What MathJax shows until it has typeset the formula that follows.
_PREVIEW_CLASSES = frozenset(["MathJax_Preview", "MathJax_CHTML_Preview", "tex2jax_ignore"])
_TEX_SCRIPT = re.compile(r"math/tex", re.IGNORECASE)
_TEX_IMAGE_CLASSES = frozenset("latex tex mwe-math-fallback-image-inline mwe-math-fallback-image-display".split())
_TEX_IMAGE_URL = re.compile(r"latex\.codecogs\.com|latex\.php\?|/latex/|[?&](?:tex|latex|chl|eq)=", re.IGNORECASE)
_TEX_SIGN = re.compile(r"\\[a-zA-Z]+|[\^_={}+<>-]")
_WRAPPED = re.compile(r"^\{\\(?:displaystyle|textstyle)\s*(.*)\}$", re.DOTALL)
# TeX between the marks that KaTeX and MathJax look for. The length is bounded, so that a lone mark costs little.
_MARKED = re.compile(
    r"\$\$(?P<a>[^$]{1,2000})\$\$|\\\[(?P<b>(?:(?!\\[\[\]]).){1,2000}?)\\\]"
    r"|\\\((?P<c>(?:(?!\\[()]).){1,1000}?)\\\)",
    re.DOTALL,
)
_TYPESETTER = re.compile(r"mathjax|katex|tex-mml-chtml|renderMathInElement", re.IGNORECASE)
_SEARCHED_CHARS = 2_000
_MAX_MATH_ELEMENTS = 5_000
"""A larger `math` element is not read: formulas of real pages have a few hundred elements."""
_MAX_LEVELS = 60
_MAX_TEX_CHILDREN = 20
_MAX_DISPLAY_LEVELS = 4  # from a `math` element to the one that says how it is shown


class Formula(NamedTuple):
    """The TeX of a formula, without the marks around it; `display` for one that stands on a line of its own."""

    tex: str
    display: bool


class FormulaInText(NamedTuple):
    """A formula between marks in a text, from `start` up to `end`."""

    start: int
    end: int
    formula: Formula


def may_hold_formula(element: HtmlElement) -> bool:
    """Return False for most elements that hold no formula; for the others, ask `holds_formula`."""
    if element.tag in _FORMULA_TAGS:
        return True
    names = element.get("class")
    return names is not None and _MAYBE.search(names) is not None


def holds_formula(element: HtmlElement) -> bool:
    """Return True for an element that shows one formula, or its source; `formula_of` then reads all of it."""
    tag = element.tag
    if tag in ("math", "mjx-container"):
        return True
    if tag == "script":
        return _TEX_SCRIPT.match(element.get("type") or "") is not None
    names = element.get("class")
    if names is None:
        return False
    every = names.split()
    if not _FORMULA_CLASSES.isdisjoint(every) or _stated_tex(element):
        return True
    return not _TEX_TEXT_CLASSES.isdisjoint(every) and _tex_text(element) is not None


def is_preview(element: HtmlElement) -> bool:
    """Return True for an element that repeats the formula beside it."""
    names = element.get("class")
    return names is not None and not _PREVIEW_CLASSES.isdisjoint(names.split())


def formula_of(element: HtmlElement) -> Formula | None:
    """Return the formula of an element for which `holds_formula` is true; None if its TeX cannot be found.

    The TeX that the page states comes first: an annotation, a script, an attribute. Presentation MathML is converted.
    """
    display = _is_display(element)
    if element.tag == "script":
        return _formula(element.text or "", display)
    for annotation in element.iter("annotation"):
        if "tex" in (annotation.get("encoding") or "").lower():
            return _formula("".join(annotation.itertext()), display)
    math = element if element.tag == "math" else next(element.iter("math"), None)
    stated = None if math is None else math.get("alttext")
    stated = stated or _stated_tex(element)
    if stated:
        return _formula(stated, display)
    if math is not None:
        return _formula(_mathml_to_tex(math), display)
    image = next(element.iter("img"), None)
    return _tex_text(element) if image is None else formula_of_image(image)


def _stated_tex(element: HtmlElement) -> str | None:
    return next(filter(None, map(element.get, _TEX_ATTRIBUTES)), None)


def _tex_text(element: HtmlElement) -> Formula | None:
    """Return the formula of an element whose whole text is TeX between marks."""
    if len(element) > _MAX_TEX_CHILDREN:
        return None
    text = "".join(element.itertext()).strip()
    if len(text) > 2 and text[0] == text[-1] == "$" and "$" not in text[1:-1]:  # noqa: PLR2004 — two marks
        return _formula(text[1:-1], display=False)
    match = next(formulas_in(text), None)
    return match.formula if match is not None and match.end - match.start == len(text) else None


def formula_of_image(image: Attributes) -> Formula | None:
    """Return the formula of an image that a TeX program has drawn, from its alternative text; None for another one."""
    tex = (image.get("alt") or image.get("data-latex") or "").strip()
    if len(tex) != 1 and not _TEX_SIGN.search(tex):
        return None
    names = (image.get("class") or "").split()
    is_tex = not _TEX_IMAGE_CLASSES.isdisjoint(names) or _TEX_IMAGE_URL.search(image.get("src") or "") is not None
    is_tex = is_tex or (tex.startswith("$") and tex.endswith("$") and len(tex) > 2)  # noqa: PLR2004 — two marks
    if not is_tex:
        return None
    marked = next(formulas_in(tex), None)
    if marked is not None and marked.end - marked.start == len(tex):
        return marked.formula
    return _formula(tex.strip("$ "), any(name.endswith("display") for name in names))


def formulas_in(text: str) -> Iterator[FormulaInText]:
    r"""Yield the formulas between `$$`, `\[ \]` and `\( \)` in a text. A single `$` is mostly a price."""
    for match in _MARKED.finditer(text):
        tex = next(filter(None, match.groups()), "").strip()
        if _TEX_SIGN.search(tex) or match["c"] is not None:
            yield FormulaInText(match.start(), match.end(), Formula(" ".join(tex.split()), match["c"] is None))


def may_hold_tex(text: str) -> bool:
    """Return False for most texts that hold no formula between marks; for the others, ask `formulas_in`."""
    return "$$" in text or "\\(" in text or "\\[" in text


def formula_node(formula: Formula) -> StructureNode:
    """Return the node of a formula."""
    return StructureNode(NodeType.FORMULA if formula.display else NodeType.FORMULA_SPAN, text=formula.tex)


def typesets_text(root: HtmlElement) -> bool:
    """Return True for a page with a script that looks for TeX between marks in its text."""
    for script in root.iter("script"):
        source = script.get("src")
        if _TYPESETTER.search(source or (script.text or "")[:_SEARCHED_CHARS]):
            return True
    return False


def _formula(tex: str, display: bool) -> Formula | None:
    tidied = normalise(tex)
    wrapped = _WRAPPED.match(tidied)
    # MediaWiki wraps all TeX like this.
    tidied = wrapped[1].strip() if wrapped and _balanced(wrapped[1]) else tidied
    return Formula(tidied, display) if tidied else None


def _balanced(tex: str) -> bool:
    level = 0
    for sign in re.findall(r"(?<!\\)[{}]", tex):
        level += 1 if sign == "{" else -1
        if level < 0:
            return False
    return level == 0


def _is_display(element: HtmlElement) -> bool:
    if element.tag == "script":
        return "mode=display" in (element.get("type") or "").replace(" ", "")
    if "true" in (element.get("display"), element.get("data-display")) or element.get("display") == "block":
        return True
    outer: HtmlElement | None = element
    for _ in range(_MAX_DISPLAY_LEVELS):
        if outer is None:
            break
        names = outer.get("class")
        if names and not _DISPLAY_CLASSES.isdisjoint(names.split()):
            return True
        outer = outer.getparent()
    return any(math.get("display") == "block" for math in element.iter("math"))


# MathML ----------------------------------------------------------------------------------------------------------

_OPERATORS = {
    "−": "-",  # noqa: RUF001 — the minus sign
    "×": r"\times",
    "⋅": r"\cdot",
    "·": r"\cdot",
    "÷": r"\div",
    "±": r"\pm",
    "≤": r"\le",
    "≥": r"\ge",
    "≠": r"\ne",
    "≈": r"\approx",
    "≡": r"\equiv",
    "∞": r"\infty",
    "∑": r"\sum",
    "∏": r"\prod",
    "∫": r"\int",
    "∂": r"\partial",
    "∇": r"\nabla",
    "∈": r"\in",
    "∉": r"\notin",
    "⊂": r"\subset",
    "⊆": r"\subseteq",
    "∪": r"\cup",  # noqa: RUF001 — mathematics
    "∩": r"\cap",
    "→": r"\to",
    "⇒": r"\Rightarrow",
    "⇔": r"\Leftrightarrow",
    "↦": r"\mapsto",
    "∀": r"\forall",
    "∃": r"\exists",
    "¬": r"\neg",
    "∧": r"\land",
    "∨": r"\lor",  # noqa: RUF001 — mathematics
    "…": r"\ldots",
    "⋯": r"\cdots",
    "′": "'",  # noqa: RUF001 — the prime
    "⟨": r"\langle",
    "⟩": r"\rangle",
    "∣": r"\mid",  # noqa: RUF001 — divides
    "∥": r"\parallel",
    "√": r"\surd",
    "ℝ": r"\mathbb{R}",  # noqa: RUF001 — mathematics
    "ℕ": r"\mathbb{N}",  # noqa: RUF001 — mathematics
    "ℤ": r"\mathbb{Z}",  # noqa: RUF001 — mathematics
    "ℂ": r"\mathbb{C}",  # noqa: RUF001 — mathematics
    "ℚ": r"\mathbb{Q}",  # noqa: RUF001 — mathematics
    "{": r"\{",
    "}": r"\}",
    "%": r"\%",
    "#": r"\#",
    "&": r"\&",
    "$": r"\$",
    "_": r"\_",
}
_GREEK_NAMES = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho varsigma sigma tau "
    "upsilon phi chi psi omega"
).split()
_GREEK = {chr(0x3B1 + index): f"\\{name}" for index, name in enumerate(_GREEK_NAMES)} | {
    letter: f"\\{name}"
    for letter, name in zip(
        "ΓΔΘΛΞΠΣΦΨΩ",
        "Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega".split(),
        strict=True,
    )
}
_SIGNS = _OPERATORS | _GREEK | {"ϵ": r"\epsilon", "ϕ": r"\phi", "ℓ": r"\ell"}  # noqa: RUF001 — as above
_BINOMIAL = "\\binom"
# The thickness of the line of a fraction that has none.
_NO_LINE = re.compile(r"\s*0+(?:\.0*)?\s*(?:[a-z]{2,3}|%)?\s*")
_INVISIBLE = re.compile("[\u2061-\u2064\u200b\u00ad]")
_FUNCTIONS = frozenset(
    "arccos arcsin arctan cos cosh cot det dim exp gcd inf ker lim ln log max min sin sinh sup tan tanh".split()
)
_ACCENTS = {
    "^": r"\hat",
    "ˆ": r"\hat",  # noqa: RUF001 — the modifier letter
    "¯": r"\bar",
    "‾": r"\overline",
    "~": r"\tilde",
    "˜": r"\tilde",  # noqa: RUF001 — the small tilde
    "→": r"\vec",
    "⃗": r"\vec",
    "˙": r"\dot",
    "¨": r"\ddot",
    "⏞": r"\overbrace",
}


def _mathml_to_tex(math: HtmlElement) -> str:
    """Return TeX for presentation MathML; "" for an element that is empty, or larger than formulas are."""
    if sum(1 for _ in math.iter()) > _MAX_MATH_ELEMENTS:
        return ""
    return " ".join(_row(math, 0).split())


def _row(element: HtmlElement, level: int) -> str:
    return _joined([_tex(child, level + 1) for child in element if isinstance(child.tag, str)])


def _joined(parts: list[str]) -> str:
    """Return the parts of a row. A binomial brings its brackets with it."""
    filled = list(filter(None, parts))
    for index in range(1, len(filled) - 1):
        if filled[index].startswith(_BINOMIAL) and filled[index - 1] == "(" and filled[index + 1] == ")":
            filled[index - 1] = filled[index + 1] = ""
    return " ".join(filter(None, filled))


def _binomial(top: str, bottom: str) -> str:
    return f"{_BINOMIAL}{{{top}}}{{{bottom}}}"


def _tex(element: HtmlElement, level: int) -> str:  # noqa: PLR0911 — one line for each kind of element
    if level > _MAX_LEVELS:
        return normalise("".join(element.itertext()))
    tag = element.tag.rpartition(":")[2]
    if tag in ("mi", "mn", "mo"):
        return _token(normalise("".join(element.itertext())), tag)
    if tag in ("mtext", "ms"):
        text = normalise("".join(element.itertext()))
        return f"\\text{{{text}}}" if text else ""
    if tag in ("annotation", "annotation-xml", "mspace", "mphantom", "none", "mprescripts"):
        return ""
    if tag == "mtable":
        return _table(element, level)
    has_no_line = tag == "mfrac" and _NO_LINE.fullmatch(element.get("linethickness") or "") is not None
    layout = _LAYOUTS.get("binomial" if has_no_line else tag)
    parts = [_tex(child, level + 1) for child in element if isinstance(child.tag, str)]
    if layout is not None and len(parts) == layout[0]:
        return layout[1](*parts)
    row = _joined(parts)
    if tag == "msqrt":
        return f"\\sqrt{{{row}}}"
    if tag == "mfenced":
        return _fenced(element, parts)
    return row


def _token(text: str, tag: str) -> str:
    text = _INVISIBLE.sub("", text)
    if text in _SIGNS:
        return _SIGNS[text]
    if text in _FUNCTIONS:
        return f"\\{text}"
    if tag == "mi" and len(text) > 1 and text.isalpha():
        return f"\\mathrm{{{text}}}"
    return "".join(_spelled(sign) for sign in text).strip()


def _spelled(sign: str) -> str:
    tex = _SIGNS.get(sign, sign)
    return f"{tex} " if tex.startswith("\\") and tex[-1].isalpha() else tex


def _group(tex: str) -> str:
    return tex if len(tex) == 1 or re.fullmatch(r"\\[a-zA-Z]+", tex) else f"{{{tex}}}"


def _over(base: str, mark: str) -> str:
    accent = _ACCENTS.get(mark) or {r"\to": r"\vec", "-": r"\bar"}.get(mark)
    if accent:
        return f"{accent}{{{base}}}"
    return f"{base}^{_group(mark)}" if base in _LIMITED else f"\\overset{{{mark}}}{{{base}}}"


def _under(base: str, mark: str) -> str:
    return f"{base}_{_group(mark)}" if base in _LIMITED else f"\\underset{{{mark}}}{{{base}}}"


_LIMITED = frozenset([r"\sum", r"\prod", r"\int", r"\lim", r"\max", r"\min", r"\sup", r"\inf", r"\bigcup", r"\bigcap"])
_LAYOUTS: dict[str, tuple[int, Callable[..., str]]] = {
    "mfrac": (2, lambda top, bottom: f"\\frac{{{top}}}{{{bottom}}}"),
    "binomial": (2, _binomial),
    "mroot": (2, lambda base, index: f"\\sqrt[{index}]{{{base}}}"),
    "msup": (2, lambda base, above: f"{_group(base)}^{_group(above)}"),
    "msub": (2, lambda base, below: f"{_group(base)}_{_group(below)}"),
    "msubsup": (3, lambda base, below, above: f"{_group(base)}_{_group(below)}^{_group(above)}"),
    "mover": (2, _over),
    "munder": (2, _under),
    "munderover": (3, lambda base, below, above: f"{base}_{_group(below)}^{_group(above)}"),
}


def _table(element: HtmlElement, level: int) -> str:
    rows = [
        " & ".join(_tex(cell, level + 2) for cell in row if isinstance(cell.tag, str))
        for row in element
        if isinstance(row.tag, str)
    ]
    body = r" \\ ".join(rows)
    return f"\\begin{{matrix}} {body} \\end{{matrix}}"


def _fenced(element: HtmlElement, parts: list[str]) -> str:
    opening = element.get("open", "(")
    closing = element.get("close", ")")
    separator = (element.get("separators") or ",")[0]
    if len(parts) == 1 and parts[0].startswith(_BINOMIAL) and (opening, closing) == ("(", ")"):
        return parts[0]
    left, right = _SIGNS.get(opening, opening) or ".", _SIGNS.get(closing, closing) or "."
    return f"\\left{left} {f' {separator} '.join(parts)} \\right{right}"
