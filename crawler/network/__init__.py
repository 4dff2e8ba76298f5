"""Where a crawl may connect to: `addresses` decides, `handler` asks it for every connection of Scrapy's downloader."""
