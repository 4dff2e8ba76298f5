"""The health of sites: what each crawl met on them, which conditions need a person, and the alerts about those."""
