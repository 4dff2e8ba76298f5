"""What comes before the walk: which format a body has, which texts a browser shows, and where else prose stands."""
