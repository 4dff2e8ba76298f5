"""Scrapy's item pipelines over the steps of `crawler/processing/`."""

from blocksieve import gives_way

gives_way(__name__)
