"""README.md as the page of a package index: links that are relative to the repository lead nowhere there."""

import re

_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!\w+:|#)([^)\s]+)\)")
_FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def page(readme: str, files: str | None) -> str:
    """With links to the address of the repository's files, such as https://github.com/OWNER/NAME/blob/v0.1.0. Without
    one the links become the text that they are on, and images go."""

    def link(found: re.Match) -> str:
        image, text, path = found.groups()
        if not files:
            return "" if image else text
        return f"{image}[{text}]({files.rstrip('/')}/{path}{'?raw=true' if image else ''})"

    parts = _FENCED.split(readme)
    return "".join(part if part.startswith("```") else _LINK.sub(link, part) for part in parts)
