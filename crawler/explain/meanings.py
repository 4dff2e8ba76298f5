"""What reasons and scores mean, in a few words for readers of an explanation."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from cleaning.blocks import Reason

if TYPE_CHECKING:
    from collections.abc import Mapping

MEANINGS: Mapping[Reason, str] = MappingProxyType(
    {
        Reason.KEPT: "part of the text",
        Reason.SHORT: "too few words to say anything where it stands",
        Reason.LINKS: "most of its words are links",
        Reason.OUTSIDE: "outside the part that holds the main text",
        Reason.NAVIGATION: "in a menu, breadcrumb trail, pager or search box",
        Reason.FOOTER: "in the page's foot",
        Reason.OVERLAY: "in a cookie notice, pop-up or dialog",
        Reason.FORM: "in a form, button or label, or asks to sign up",
        Reason.ADVERTISEMENT: "marked as an advertisement or promotion",
        Reason.RELATED: "leads to other pages: related, popular, tags",
        Reason.SOCIAL: "share buttons, links to social sites, embedded posts",
        Reason.ASIDE: "in a sidebar or widget",
        Reason.COMMENT: "a reader's comment",
        Reason.BYLINE: "names the author, the date or the section",
        Reason.CAPTION: "describes or credits a picture",
        Reason.HIDDEN: "readers do not see it",
        Reason.EMPTY: "without text",
        Reason.UNBLOCKED: "in no element that the method makes blocks of",
        Reason.IRRELEVANT: "in an element whose tag the method discards",
        Reason.PLUGIN: "stands in for an embedded player or program",
        Reason.LEGAL: "has links to terms, disclaimer or copyright",
        Reason.PUNCTUATION: "too little punctuation",
        Reason.OUTER_LINKS: "most of its links lead to other sites",
        Reason.NO_PRIORITY: "has none of the tags that have a priority",
        Reason.LOW_SCORE: "its score is not enough",
        Reason.TEMPLATE: "the same on several pages of the site",
        Reason.NO_MAIN: "no block has what the method asks of a main one",
        Reason.TRUNCATED: "beyond the bound on blocks (option max_blocks)",
        Reason.PAGE_DUPLICATE: "repeats an earlier block of the page",
    }
)

SCALES: Mapping[str, str] = MappingProxyType(
    {
        "default": "probability to be main text, 0 to 1",
        "weighted": "1 less the weighted shares of title, link and content words; has no lower bound",
        "tags": "1 where no rule takes the block",
        "vce": "factor value of the visual block that the text is part of",
        "fe": "words outside links by these and all other features, 0 to 1",
        "kfe": "words outside links by these and all other features, 0 to 1",
        "ce": "length in characters",
        "pab": "sum of the priorities of the block's tags",
        "eniw": "1 for an informative block, 0 for noise",
        "subtree": "share of characters outside links, 0 to 1, of what is kept",
        "coreex": "that of the best node, 0 to 1, of what is kept",
        "econ": "punctuation marks",
    }
)
