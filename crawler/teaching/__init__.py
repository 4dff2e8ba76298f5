"""Teaching a site: the corrections and models of sites in the database, and what a model would change.

`cleaning/teaching` has what is learned and how. Here are its records (`records`), a page to correct (`drafts`),
the models that a crawl uses (`site_models`), and the preview over the stored pages of a site (`preview`).
"""
