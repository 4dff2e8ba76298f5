"""Reading a database: search, exports, histories, and `open_database` for programs."""

from crawler.reading.corpus import Corpus, CorpusBlock, CorpusChunk, CorpusPage, CorpusRows, open_database

__all__ = ["Corpus", "CorpusBlock", "CorpusChunk", "CorpusPage", "CorpusRows", "open_database"]
