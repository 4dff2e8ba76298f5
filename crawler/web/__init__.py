"""A read-only web page over the database: `scrapy serve`."""
