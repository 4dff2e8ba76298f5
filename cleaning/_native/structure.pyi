from collections.abc import Sequence

from cleaning.blocks import Block, Page
from cleaning.structure.inline import Segment
from cleaning.structure.nodes import StructureNode

def read_structure(page: Page, blocks: Sequence[Block], kept: bytes | bytearray) -> StructureNode | None: ...
def nest(segments: Sequence[Segment]) -> list[StructureNode | str]: ...
