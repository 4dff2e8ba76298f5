"""Scrapy's item pipelines over the steps of `crawler/processing/`."""

from blocksieve import defer_to_project_package

defer_to_project_package(__name__)
