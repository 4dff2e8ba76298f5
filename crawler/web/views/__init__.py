"""What the views show: each module reads the database for a view or two and returns their records."""
