"""Editing in the browser (`scrapy serve --edit`): the pages of `crawler/web` stay as they are, and only read.

`form` is a page to correct and what a browser sends back, `site` is the preview of a site and what is accepted, `jobs`
are commands that an editor starts, and `routes` has the addresses.
"""
