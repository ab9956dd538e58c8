"""MkDocs hooks: add pages outside of `docs/` and generated pages (commands, keys, names, modules), and fix links."""

from __future__ import annotations

import posixpath
import re
from importlib.metadata import version
from pathlib import Path

from api_pages import api_pages
from data_tables import TABLES
from key_page import command_page, key_page, skill_tables
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from name_pages import name_pages

ROOT = Path(__file__).resolve().parents[2]
FROM_ROOT = {
    "README.md": "overview.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "CODE_OF_CONDUCT.md": "code_of_conduct.md",
    "SECURITY.md": "security.md",
    "THIRD_PARTY.md": "third_party.md",
    "examples/README.md": "examples/index.md",
    "examples/notebooks/README.md": "examples/notebooks/index.md",
    "examples/unlatch_plugin/README.md": "examples/unlatch_plugin/index.md",
    **{f"benchmarks/notes/{note.name}": f"notes/{note.name}" for note in sorted(ROOT.glob("benchmarks/notes/*.md"))},
}
"""Pages outside of `docs/`, with their paths on the site."""
PAGE_TABLES = {**TABLES, "<!-- keys of skills -->": skill_tables}
"""Tables that are made from the code, by the mark of a page that they replace."""
CELL = re.compile(r"<td[ >].*?</td>", re.DOTALL)
LONG_CODE = re.compile(r"(?<=<code>)[^<]{20,}(?=</code>)")
LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)#\s]+)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Adds the version to the foot of every page."""
    config.copyright = f"Unlatch {version('unlatch')}, {config.copyright}"
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds pages from outside of `docs/`, generated pages, and the files that pages link to."""
    for path, uri in FROM_ROOT.items():
        files.append(File.generated(config, uri, abs_src_path=str(ROOT / path)))
    for uri, text in {
        "reference/keys.md": key_page(),
        "reference/commands.md": command_page(),
        **name_pages(),
        **api_pages(ROOT),
    }.items():
        files.append(File.generated(config, uri, content=text))
    sources = [*FROM_ROOT, *(f"docs/{file.src_uri}" for file in files.documentation_pages() if not file.generated_by)]
    for path in sorted({target for source in sources for target in _find_link_targets(source)}):
        if (ROOT / path).is_file() and files.get_file_from_path(_site_path(path)) is None:
            files.append(File.generated(config, _site_path(path), abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Replaces links of the repository by links of the site, and marks by the tables that are made from the code."""
    here = {uri: path for path, uri in FROM_ROOT.items()}.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    folder = posixpath.dirname(page.file.src_uri)

    def on_site(match: re.Match[str]) -> str:
        return posixpath.relpath(_site_path(_resolve_link(here, match[1])), folder or ".")

    if page.file.src_uri.startswith("reference/"):
        return markdown
    markdown = LINK.sub(on_site, markdown)
    for mark, make_tables in PAGE_TABLES.items():
        markdown = markdown.replace(mark, make_tables()) if mark in markdown else markdown
    return markdown


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lets long names in tables break after dots and underscores; clips of the gallery load when they are seen."""

    def breakable(name: re.Match[str]) -> str:
        return re.sub(r"(?<=\w)([._/=(]+)(?=\w)", r"\1<wbr>", name[0])

    if page.file.src_uri == "gallery.md":
        html = html.replace("<img ", '<img loading="lazy" ')
    return CELL.sub(lambda cell: LONG_CODE.sub(breakable, cell[0]), html)


def _find_link_targets(source: str) -> list[str]:
    """Returns the repository paths that a page links to."""
    return [_resolve_link(source, link) for link in LINK.findall((ROOT / source).read_text(encoding="utf-8"))]


def _resolve_link(source: str, link: str) -> str:
    """Returns the repository path of a link; for a folder, that of its README."""
    path = posixpath.normpath(posixpath.join(posixpath.dirname(source), link))
    return f"{path}/README.md" if (ROOT / path / "README.md").is_file() else path


def _site_path(path: str) -> str:
    """Returns the path on the site of a path in the repository; for a table of names, that of its page."""
    if path.startswith("docs/coming_from/names/"):
        return f"reference/names/{Path(path).stem}.md"
    return FROM_ROOT.get(path, path.removeprefix("docs/"))
