from lxml.html import HtmlElement

from cleaning.blocks import Block, Decision, Reason
from cleaning.leaf_table import LeafTable

BUILT_WITH: str

def decisions(blocks: list[Block], scores: list[float], reasons: list[Reason]) -> list[Decision]: ...
def scan_tree(root: HtmlElement) -> LeafTable: ...
