"""Prose that no tree shows, in `noscript`, templates, JSON-LD and script states: prose.py finds it for a page."""
