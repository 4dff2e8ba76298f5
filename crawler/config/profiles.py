"""The papers' systems as settings: `PROFILE=pab2015` crawls, cleans and stores as that paper does.

A profile sets a cleaning method with all its options, and what is stored of its result. It wins over settings of a
lower priority, such as those of a settings module. A setting of the same or a higher priority that says something else
is an error, because the crawl would no longer be the paper's. docs/methods.md describes the remaining differences.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from crawler.config.names import name_in_use

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.settings import BaseSettings

PROFILE = "PROFILE"

NO_PROFILE = "none"

# Every block that the method keeps becomes a row of `block` and of the view `informative_block`.
_STORE_ALL = {"DEDUP_SCOPE": "off", "BOILERPLATE_MIN_PAGES": 0}


@dataclass(frozen=True, slots=True)
class Profile:
    """A paper and the settings of its system."""

    paper: str
    settings: Mapping[str, Any]


PROFILES: Mapping[str, Profile] = MappingProxyType(
    {
        "pab2015": Profile(
            "Kabir, Kabir and Amin 2015: blocks by tag priority, and a database of all informative blocks",
            {"CLEANING_METHOD": "pab", "CLEANING_OPTIONS": {"pab_outer_share": 0.5}} | _STORE_ALL,
        ),
        "eniw2013": Profile(
            "Oza and Mishra 2013, as Kabir, Kabir and Amin describe it: all blocks but those in forms and marquees",
            {"CLEANING_METHOD": "eniw", "CLEANING_OPTIONS": {"eniw_noise": False}} | _STORE_ALL,
        ),
        "raw": Profile(
            "the raw data of Kabir, Kabir and Amin 2015: all blocks with text, nothing filtered",
            {"CLEANING_METHOD": "eniw", "CLEANING_OPTIONS": {"eniw_noise": True}} | _STORE_ALL,
        ),
        "weighted2020": Profile(
            "Saravanan and Sathya Bama 2020: tag rules, modified simhash between the blocks of a page, weighted score",
            {
                "CLEANING_METHOD": "weighted",
                "CLEANING_OPTIONS": {
                    "weighted_alpha": 0.3,
                    "weighted_beta": 0.3,
                    "weighted_gamma": 0.4,
                    "weighted_distance": 3,
                    "weighted_small_words": 10,
                },
            }
            | _STORE_ALL,
        ),
        "subtree": Profile(
            "Qi and Sun: the largest satisfiable sub-trees",
            {
                "CLEANING_METHOD": "subtree",
                "CLEANING_OPTIONS": {
                    "subtree_generations": 2,
                    "subtree_alpha": 40,
                    "subtree_beta": 100,
                    "subtree_gamma": 0.3,
                },
            }
            | _STORE_ALL,
        ),
        "vce": Profile(
            "Sivakumar and Parvathi: the main block by the layout in a browser",
            {
                "CLEANING_METHOD": "vce",
                "CLEANING_OPTIONS": {"vce_threshold": 3, "vce_link_density": 0.5},
                "RENDER": True,
                "RENDER_JAVASCRIPT": True,
            }
            | _STORE_ALL,
        ),
    }
)


def profile_settings(settings: BaseSettings) -> Mapping[str, Any]:
    """Return the settings of the profile that is set; none without a profile, or for one that does not exist."""
    profile = PROFILES.get(str(settings.get(name_in_use(PROFILE, settings))))
    return {} if profile is None else profile.settings


def is_overridden(name: str, settings: BaseSettings) -> bool:
    """Return True if the profile has a higher priority than a setting, or if the setting was not given."""
    used_name = name_in_use(name, settings)
    priority = settings.getpriority(used_name)
    profile_priority = settings.getpriority(name_in_use(PROFILE, settings)) or 0
    return settings.get(used_name) is None or priority is None or priority < profile_priority


def merge_with_profile(name: str, value: Any, profile: Mapping[str, Any]) -> Any:
    """Return a given setting with what the profile says of it. Raises ValueError if the two contradict each other.

    CLEANING_OPTIONS may have further options, such as `max_blocks`.
    """
    profile_value = profile[name]
    merged = {**value, **profile_value} if isinstance(profile_value, dict) else profile_value
    if merged != (({**profile_value, **value}) if isinstance(profile_value, dict) else value):
        raise ValueError
    return merged
