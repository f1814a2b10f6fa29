"""What a package index shows: README.md, whose links lead nowhere there if they are relative to the repository, and
links beside it. Both need the address of the repository's files, such as https://github.com/OWNER/NAME/blob/v0.1.0."""

import re

_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!\w+:|#)([^)\s]+)\)")
_FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def page(readme: str, files: str | None) -> str:
    """With links to these files. Without an address the links become the text that they are on, and images go."""

    def link(found: re.Match) -> str:
        image, text, path = found.groups()
        if not files:
            return "" if image else text
        return f"{image}[{text}]({files.rstrip('/')}/{path}{'?raw=true' if image else ''})"

    parts = _FENCED.split(readme)
    return "".join(part if part.startswith("```") else _LINK.sub(link, part) for part in parts)


def urls(files: str | None) -> dict[str, str]:
    """By the names that an index knows."""
    if not files:
        return {}
    names = {"Documentation": "docs/index.md", "Changelog": "CHANGELOG.md", "Security": "SECURITY.md"}
    repository = files.partition("/blob/")[0]
    return {"Source": repository} | {name: f"{files.rstrip('/')}/{path}" for name, path in names.items()}
