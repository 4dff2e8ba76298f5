from collections.abc import Sequence

from lxml.html import HtmlElement

from cleaning.blocks import Page
from cleaning.structure.inline import Segment
from cleaning.structure.marks import TextMarks
from cleaning.structure.nodes import StructureNode

def find_candidates(start: HtmlElement) -> list[HtmlElement]: ...
def read_structure(page: Page, marks: TextMarks) -> StructureNode | None: ...
def nest(segments: Sequence[Segment]) -> list[StructureNode | str]: ...
