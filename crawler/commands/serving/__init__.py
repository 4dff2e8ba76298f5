"""Commands that serve the database: to browsers, and to assistants."""
