"""Our spiders, and the modules that find links for them."""

from blocksieve import gives_way

gives_way(__name__)
