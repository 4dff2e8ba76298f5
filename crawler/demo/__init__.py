"""A site to crawl: ezinearticles' addresses and markup, generated from a seed, with the ground truth of its content.

python -m crawler.demo            # serve it on a free loopback port, whose URL is printed
python -m crawler.demo --truth truth.json
"""

from crawler.demo.build import build_site
from crawler.demo.ground_truth import ground_truth
from crawler.demo.site import DemoSite

__all__ = ["DemoSite", "build_site", "ground_truth"]
