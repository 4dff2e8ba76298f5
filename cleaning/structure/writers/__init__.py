"""What a document is written as: Markdown, an HTML fragment, plain text, chunks."""
