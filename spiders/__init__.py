"""Our spiders, and what they find links with."""

from blocksieve import gives_way

gives_way(__name__)
