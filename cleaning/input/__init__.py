"""What comes before the walk: which format a body has, and which texts a browser shows."""
