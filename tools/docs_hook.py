"""The hook of mkdocs.yml: what the documents need to be pages of a site as they stand in the repository.

Links out of docs/ lead to files that a site does not have. Images among them become files of the site. Others lead to
the repository where mkdocs.yml names one (`repo_url`), and else become text that names the file. A link to a file that
does not exist stays, and MkDocs warns of it. The notebook becomes a page.
"""

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from nbconvert import MarkdownExporter

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
NOTEBOOK, TOUR = "examples/python/tour.ipynb", "tour.md"
LINK = re.compile(r"(!?)\[([^\]]*)\]\(\.\./([^)\s#]+)(#[^)\s]*)?\)")
FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
# Sphinx's roles, and names of documents, in docstrings.
ROLE = re.compile(r":func:<code>([\w.]+)</code>")
NAMED = re.compile(r"docs/(\w+)\.md")


def on_files(files: Files, config: MkDocsConfig) -> None:
    shown = {name for page in DOCS.glob("*.md") for image, _, name, _ in LINK.findall(page.read_text()) if image}
    for name in sorted(shown):
        if (ROOT / name).is_file():
            files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    tour, _ = MarkdownExporter().from_filename(str(ROOT / NOTEBOOK))
    files.append(File.generated(config, TOUR, content=tour.replace("](../../docs/", "](")))


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    def linked(found: re.Match) -> str:
        image, text, name, part = found.groups(default="")
        if not (ROOT / name).exists():
            return found[0]
        if name == NOTEBOOK:
            return f"[{text}]({TOUR})"
        if image:
            return f"![{text}]({name})"
        if config.repo_url:
            return f"[{text}]({config.repo_url.rstrip('/')}/blob/HEAD/{name}{part})"
        return f"`{name}`" if text.strip("`") in (name, Path(name).name) else f"{text} (`{name}`)"

    parts = FENCED.split(markdown)
    return "".join(part if part.startswith("```") else LINK.sub(linked, part) for part in parts)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    shown = re.findall(r"^::: (torch_reduce\.[\w.]+)$", page.markdown, re.MULTILINE)
    if not shown:
        return html
    places = {name.rpartition(".")[2]: name for name in shown}

    def linked(found: re.Match) -> str:
        code = f"<code>{found[1]}</code>"
        return f'<autoref identifier="{places[found[1]]}">{code}</autoref>' if found[1] in places else code

    return NAMED.sub(r'<a href="\1.html">docs/\1.md</a>', ROLE.sub(linked, html))
