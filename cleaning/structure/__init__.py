"""The structure of a page's main text: headings, lists, tables, code and formulas, as a tree of nodes and as text."""
