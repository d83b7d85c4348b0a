"""Formats of which a file is a document: text, Markdown, HTML, PDF."""
