"""The table of methods: how each segments, scores and decides, and where it was published.

A method of your own needs no change here: an installed distribution names it as an entry point of the group
`blocksieve.methods`, and a program calls `register`.
"""

from __future__ import annotations

from cleaning.classifier.shipped import load_shipped_model
from cleaning.methods import coreex, default, econ, informative_sections, pab, subtree, vce, weighted
from cleaning.methods.method import ENTRY_POINTS, Method, MethodResult, MethodTable
from cleaning.segments import keep_undropped

__all__ = ["ENTRY_POINTS", "METHODS", "NEEDS", "Method", "MethodResult", "register"]

_DEBNATH = (
    "S. Debnath, P. Mitra, N. Pal, C. L. Giles, Automatic Identification of Informative Sections of Web Pages, "
    "IEEE Transactions on Knowledge and Data Engineering 17 (9), 2005, 1233-1246"
)

_OWN = {
    "default": default.trained_method(load_shipped_model),
    "weighted": Method(
        weighted.segment,
        weighted.score,
        weighted.decide,
        "A. Saravanan, S. Sathya Bama, Extraction of Core Web Content from Web Pages using Noise Elimination, "
        "Journal of Engineering Science and Technology Review 13 (4), 2020, 173-187",
        scale="1 minus the weighted shares of title, link and content words; has no lower bound",
    ),
    "tags": Method(
        weighted.segment_by_tags,
        weighted.score_by_tags,
        keep_undropped,
        "Mayajohn, J. S. Jayasudha, Tag Based Noise Removal from Web Pages, Journal of Theoretical and Applied "
        "Information Technology 95 (22), 2017, 6336-6349, as Saravanan and Sathya Bama (2020) describe it",
        scale="1 if no rule drops the block",
    ),
    "vce": Method(
        vce.segment,
        vce.score,
        vce.decide,
        "P. Sivakumar, R. M. S. Parvathi, Mainly significant Content Mining of Entire Web Page (no year in our copy)",
        needs="layout",
        scale="factor value of the visual block that the text is part of",
    ),
    "fe": Method(
        informative_sections.segment,
        informative_sections.score_by_features,
        informative_sections.keep_best_block,
        f"FeatureExtractor: {_DEBNATH}",
        scale="words outside links by these and all other features, 0 to 1",
    ),
    "kfe": Method(
        informative_sections.segment,
        informative_sections.score_by_features,
        informative_sections.keep_top_cluster,
        f"K-FeatureExtractor: {_DEBNATH}",
        scale="words outside links by these and all other features, 0 to 1",
    ),
    "ce": Method(
        informative_sections.segment,
        informative_sections.score_by_length,
        informative_sections.keep_longest_new_block,
        f"ContentExtractor: {_DEBNATH}",
        needs="template",
        scale="length in characters",
    ),
    "pab": Method(
        pab.segment,
        pab.score,
        pab.decide,
        "R. Kabir, S. Kabir, S. Amin, Isolating Informative Blocks from Large Web Pages Using HTML Tag Priority "
        "Assignment Based Approach, Electrical & Computer Engineering: An International Journal 4 (3), 2015",
        scale="sum of the priorities of the block's tags",
    ),
    "eniw": Method(
        pab.segment_eniw,
        pab.score_eniw,
        keep_undropped,
        "A. K. Oza, S. Mishra, Elimination of Noisy Information from Web Pages, International Journal of Recent "
        "Technology and Engineering 2, 2013, 574-581, as Kabir et al. (2015) describe it",
        scale="1 for an informative block, 0 for noise",
    ),
    "subtree": Method(
        subtree.segment,
        subtree.score,
        keep_undropped,
        "X. Qi, J. Sun, Eliminating Noisy Information in Webpage through Heuristic Rules",
        scale="share of characters outside links in what is kept, 0 to 1",
    ),
    "coreex": Method(
        coreex.segment,
        coreex.score,
        keep_undropped,
        "J. Prasad, A. Paepcke, CoreEx: Content Extraction from Online News Articles, 2008",
        scale="score of the best node for what is kept, 0 to 1",
    ),
    "econ": Method(
        econ.segment,
        econ.score,
        econ.decide,
        "Y. Guo, H. Tang, L. Song, Y. Wang, G. Ding, ECON: An Approach to Extract Content from Web News Page, 2010",
        scale="punctuation marks",
    ),
}

METHODS = MethodTable(_OWN)
"""All methods by name, also the ones that other distributions bring."""

# Fields of Page that some methods need, and how to get them.
NEEDS = {
    "layout": "crawl with -s RENDER=true, or render the page by crawler.fetching.render.browser",
    "template": "crawl several pages of the site with it, or learn it by "
    "cleaning.methods.informative_sections.learn_template",
}


def register(name: str, method: Method) -> None:
    """Add a method to METHODS, for this process only.

    Raises OptionError for a name that is taken or not allowed, and for an object that is not a Method.
    """
    METHODS[name] = method
