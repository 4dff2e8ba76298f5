"""Search the stored blocks by words, phrases and beginnings of words; docs/search.md tells how.

from crawler.search import Filters, Rank, search
from crawler.storage.engine import opened, reading

with opened("sqlite:///blocks.db", must_exist=True) as engine, reading(engine) as connection:
for page in search(connection, 'computer "operating system" -games', rank=Rank.BM25, limit=5):
print(page.url, [hit.excerpt.text for hit in page.hits])
"""

from crawler.search.excerpt import Excerpt
from crawler.search.filters import Filters
from crawler.search.find import Found, Hit, search
from crawler.search.matching import Rank

__all__ = ["Excerpt", "Filters", "Found", "Hit", "Rank", "search"]
