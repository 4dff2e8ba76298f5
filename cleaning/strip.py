"""What is never content, on any page and for any method."""

from __future__ import annotations

# Their text is for programs, or stands in for something that is not text. `head` holds metadata, read apart.
NEVER_CONTENT = frozenset(
    {
        "applet",
        "area",
        "audio",
        "canvas",
        "datalist",
        "embed",
        "frame",
        "frameset",
        "head",
        "iframe",
        "input",
        "map",
        "math",
        "noframes",
        "noscript",
        "object",
        "script",
        "select",
        "style",
        "svg",
        "template",
        "textarea",
        "video",
    }
)
