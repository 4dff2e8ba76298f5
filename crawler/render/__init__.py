"""Pages as a browser lays them out: the tree of the rendered DOM, and a box for each of its elements.

`Browser` renders stored pages, one by one, with the network denied; `crawler.render.handler` renders those of a crawl
(setting RENDER). Both need the extra `blocksieve[render]` and a Chromium; importing this package needs neither.
"""

from __future__ import annotations

from crawler.errors import RenderError
from crawler.render.browser import Browser
from crawler.render.rendering import Rendering

__all__ = ["Browser", "RenderError", "Rendering"]
