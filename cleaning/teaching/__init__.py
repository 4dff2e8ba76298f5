"""Teaching: what a reader corrects on a page of a site, and what follows for the other pages of the site.

`corrections` are the reader's marks, `signatures` how a block is recognised on another page, `regression` the
arithmetic, and `site_model` the model of a site, which `cleaning.clean` takes.
"""

from cleaning.teaching.corrections import CorrectedBlock, CorrectedPage, correct
from cleaning.teaching.site_model import SiteModel, find_site_model, load_site_model, read_site_models

__all__ = [
    "CorrectedBlock",
    "CorrectedPage",
    "SiteModel",
    "correct",
    "find_site_model",
    "load_site_model",
    "read_site_models",
]
