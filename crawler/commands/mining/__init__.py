"""`scrapy mine`: classes, topics, patterns and trends of what is stored."""
