from lxml.html import HtmlElement

from cleaning.metadata.elements import FoundElements

def find_elements(root: HtmlElement) -> FoundElements: ...
