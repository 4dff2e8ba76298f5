"""Our pages as the documents of other frameworks: LangChain, LlamaIndex and Haystack. docs/extend.md shows each.

documents.py    the documents of a database, of an export, and of saved pages
langchain.py    a document loader of LangChain
llama_index.py  a reader of LlamaIndex
haystack.py     a converter of Haystack
"""
