"""Methods side by side on the user's own pages: `scrapy compare`."""
