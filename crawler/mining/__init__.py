"""Mining: classes, clusters, patterns and trends of the stored pages and blocks. docs/export.md shows them at work.

    from crawler.mining import classify, count_terms, read_documents
    from crawler.reading import open_database

    with open_database("sqlite:///blocks.db") as corpus:
        documents = read_documents(corpus)
    print(classify(count_terms(documents), by="section").models)

It needs the extra `mining`.
"""

from crawler.mining.classification import Classification, classify
from crawler.mining.clustering import Clustering, cluster
from crawler.mining.documents import Document, read_documents, read_export
from crawler.mining.patterns import Patterns, find_patterns
from crawler.mining.term_counts import TermCounts, count_terms
from crawler.mining.trends import Trends, find_trends

__all__ = [
    "Classification",
    "Clustering",
    "Document",
    "Patterns",
    "TermCounts",
    "Trends",
    "classify",
    "cluster",
    "count_terms",
    "find_patterns",
    "find_trends",
    "read_documents",
    "read_export",
]
