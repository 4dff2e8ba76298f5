"""newspaper4k's titles, authors, dates and sections of pages: requests as JSON lines in, answers as JSON lines out.

`metadata_quality.py` starts this with an interpreter that has newspaper4k: the library asks for python-dateutil 2, and
the development tools have a newer one. A request is `{"path": …, "url": …}`; the file is a gzipped page in UTF-8.
"""

import gzip
import json
import sys
from pathlib import Path

from newspaper import Article, parsers
from newspaper.extractors import ContentExtractor


def main():
    print(json.dumps({"version": __import__("newspaper").__version__}), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        page = gzip.decompress(Path(request["path"]).read_bytes()).decode("utf-8", "replace")
        try:
            answer = read(page, request["url"] or "")
        except Exception as error:  # noqa: BLE001 — whatever the library raises is its failure, and counted
            answer = {"error": repr(error)}
        print(json.dumps(answer), flush=True)


def read(page, url):
    """Return what `Article.parse` finds; its search for the text, which takes a hundred times as long, is left out."""
    article = Article(url)
    extractor = ContentExtractor(article.config)
    document = parsers.fromstring(page)
    if document is None:
        return {}
    stated = extractor.get_metadata(url, document)["data"].get("article")
    published = extractor.get_publishing_date(url, document)
    return {
        "title": extractor.get_title(document),
        "authors": extractor.get_authors(document)[: article.config.max_authors],
        "published": published.date().isoformat() if published else None,
        "section": stated.get("section") if isinstance(stated, dict) else None,
    }


if __name__ == "__main__":
    main()
