"""A server of the Model Context Protocol: assistants search and read the database, and cannot write to it."""
