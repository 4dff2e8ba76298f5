"""Settings as a project, a spider or the command line gives them."""

from scrapy.settings import Settings


def make_settings(priority="project", **values):
    """Return Scrapy's settings with these values, all of one priority."""
    settings = Settings()
    settings.setdict(values, priority)
    return settings
