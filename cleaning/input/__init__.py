"""The steps before the walk: the format of a body, and the texts that a browser shows."""
