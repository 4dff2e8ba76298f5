"""Formulas of the notations that pages use."""

import pytest
from markdown_it import MarkdownIt

from cleaning.structure.writers.markdown import to_markdown

MATHML = "<math>{}</math>"
KATEX = (
    '<span class="katex"><span class="katex-mathml"><math><mi>a</mi><annotation encoding="application/x-tex">a_{1}'
    '</annotation></math></span><span class="katex-html">a1</span></span>'
)


@pytest.mark.parametrize(
    ("mathml", "tex"),
    [
        ("<mfrac><mi>a</mi><mi>b</mi></mfrac>", r"\frac{a}{b}"),
        ("<msup><mi>x</mi><mn>2</mn></msup><mo>+</mo><msqrt><mi>y</mi></msqrt>", r"x^2 + \sqrt{y}"),
        ("<munderover><mo>∑</mo><mrow><mi>i</mi><mo>=</mo><mn>1</mn></mrow><mi>n</mi></munderover>", r"\sum_{i = 1}^n"),
        ("<mi>sin</mi><mo>&#x2061;</mo><mi>α</mi>", r"\sin \alpha"),
        ("<mover><mi>x</mi><mo>→</mo></mover>", r"\vec{x}"),
        ("<mfenced><mi>a</mi><mi>b</mi></mfenced>", r"\left( a , b \right)"),
        (
            "<mtable><mtr><mtd><mn>1</mn></mtd><mtd><mn>0</mn></mtd></mtr></mtable>",
            r"\begin{matrix} 1 & 0 \end{matrix}",
        ),
        ("<mtext>if </mtext><mi>speed</mi><mo>≤</mo><mn>10</mn>", r"\text{if} \mathrm{speed} \le 10"),
    ],
)
def test_mathml_becomes_tex(read, mathml, tex):
    assert to_markdown(read(f"<p>Let {MATHML.format(mathml)} be</p>")) == f"Let ${tex}$ be\n"


@pytest.mark.parametrize(
    "formula",
    [
        '<math alttext="{\\displaystyle a_{1}}"><mi>z</mi></math>',
        '<math><semantics><mi>z</mi><annotation encoding="application/x-tex">a_{1}</annotation></semantics></math>',
        KATEX,
        '<span class="MathJax_Preview">a1</span><script type="math/tex">a_{1}</script>',
        '<img class="latex" src="/l.png" alt="a_{1}">',
        '<img src="https://latex.codecogs.com/gif.latex?x" alt="a_{1}">',
        '<span class="math-container">$a_{1}$</span>',
        r'<span class="math inline">\(a_{1}\)</span>',
        '<span class="mwe-math-element"><math alttext="a_{1}"></math><img alt="a_{1}" src="/x.svg"></span>',
    ],
)
def test_a_formula_in_a_line_stands_between_dollars(read, formula):
    assert to_markdown(read(f"<p>Let {formula} cost $5.</p>")) == "Let $a_{1}$ cost \\$5.\n"


@pytest.mark.parametrize(
    "formula",
    [
        '<math display="block"><msub><mi>a</mi><mn>1</mn></msub></math>',
        '<span class="katex-display"><math><annotation encoding="application/x-tex">a_1</annotation></math></span>',
        '<script type="math/tex; mode=display">a_1</script>',
        '<div class="MathJax_Display"><math alttext="a_1"></math></div>',
    ],
)
def test_a_displayed_formula_between_kept_texts_stands_alone(read, formula):
    assert to_markdown(read(f"<p>Before</p><div>{formula}</div><p>After</p>")) == "Before\n\n$$\na_1\n$$\n\nAfter\n"


def test_tex_in_the_text_is_a_formula_if_a_script_typesets_it(read):
    text = r"<p>Let \(a_1\) be $$x^2$$ at 5$$.</p>"
    assert to_markdown(read(text)) == r"Let \\(a_1\\) be $$x^2$$ at 5$$." + "\n"
    script = '<script src="https://cdn.example/mathjax@3/tex-chtml.js"></script>'
    assert to_markdown(read(text + script)) == "Let $a_1$ be\n\n$$\nx^2\n$$\n\nat 5\\$\\$.\n"


def test_a_picture_is_no_formula(read):
    assert to_markdown(read('<p>a <img class="photo" alt="x=1" src="/i.png"></p>')) == "a\n"


def test_a_huge_formula_is_not_read(read):
    assert to_markdown(read(f"<p>a <math>{'<mrow><mi>x</mi></mrow>' * 6_000}</math> b</p>")) == "a b\n"


def test_deep_mathml_is_read_without_recursion_errors(read):
    assert "x" in to_markdown(read(f"<p>a <math>{'<mrow>' * 1_500}<mi>x</mi></math></p>"))


@pytest.mark.parametrize(
    ("tex", "written"),
    [
        (r"\mathbf {x} _{i}", r"\mathbf {x} _ {i}"),
        (r"(a)_i*b", r"(a)_ i* b"),
        ("x_i", "x_i"),
        (r"a\_b \operatorname*{sup}", r"a\_b \operatorname*{sup}"),
    ],
)
def test_tex_begins_no_emphasis_where_formulas_are_not_known(read, tex, written):
    text = to_markdown(read(f'<p>a <math alttext="{tex}"><mi>x</mi></math> and <i>b</i></p>'))
    assert text == f"a ${written}$ and *b*\n"
    assert MarkdownIt("commonmark").render(text).count("<em>") == 1


@pytest.mark.parametrize("thickness", ["0", "0pt", " 0.0em", "0%"])
def test_a_fraction_without_a_line_is_a_binomial_that_brings_its_brackets(read, thickness):
    def tex(body):
        return to_markdown(read(f"<p>Let {MATHML.format(body)} be</p>"))[len("Let $") : -len("$ be\n")]

    fraction = f'<mfrac linethickness="{thickness}"><mi>n</mi><mn>12</mn></mfrac>'
    in_row = f"<mrow><mo>(</mo>{fraction}<mo>)</mo></mrow>"
    in_formula = f"<mo stretchy=false>(</mo>{fraction}<mo>)</mo>"
    for body in (fraction, in_row, in_formula, f"<mfenced>{fraction}</mfenced>"):
        assert tex(body) == "\\binom{n}{12}"
    assert tex(fraction.replace(thickness, "2px")) == "\\frac{n}{12}"
    assert tex(f"<mi>f</mi><mo>(</mo>{fraction}<mo>+</mo><mi>x</mi><mo>)</mo>") == "f ( \\binom{n}{12} + x )"
