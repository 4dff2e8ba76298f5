"""Our spiders, and the modules that find links for them."""

from blocksieve import defer_to_project_package

defer_to_project_package(__name__)
