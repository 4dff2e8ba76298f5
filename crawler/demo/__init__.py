"""A site to crawl, with ezinearticles' addresses and markup, and the ground truth of its content.

python -m crawler.demo            # serve it on a free loopback port, whose URL is printed
python -m crawler.demo --truth truth.json
"""
