from lxml.html import HtmlElement

from cleaning.blocks import Block, Decision, Reason
from cleaning.leaf_table import LeafTable

def make_decisions(blocks: list[Block], scores: list[float], reasons: list[Reason]) -> list[Decision]: ...
def read_leaf_table(root: HtmlElement) -> LeafTable: ...
