"""`scrapy sites`: crawl and watch the sites of a file."""
