"""Documents as the texts that tests compare."""

from cleaning.structure.writers.markdown import to_markdown


def markdown(document, **options):
    """Return the Markdown of a document without the line break at its end."""
    return to_markdown(document, **options).rstrip("\n")
