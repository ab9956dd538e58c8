"""Reads the page of a report as a browser would."""

from html.parser import HTMLParser
from pathlib import Path


class ReportPage(HTMLParser):
    """The text of a page, its addresses, and what its sections and tables have."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self.text = ""
        self.addresses: list[str] = []
        self.videos: list[str] = []
        self.images: list[str] = []
        self.commands: list[str] = []
        """The texts of `code` elements."""
        self.sections: dict[str, str] = {}
        """The content of each section by its title: text, and a mark for each picture and bar."""
        self.tables: list[list[list[str]]] = []
        """The cells of each row of each table."""
        self._open: list[str] = []
        self._title: str | None = None
        self.source = path.read_text(encoding="utf-8")
        self.feed(self.source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.addresses += [value for name, value in attrs if name in ("src", "href", "xlink:href", "srcset") and value]
        if tag in ("video", "img"):
            (self.videos if tag == "video" else self.images).append(str(found["src"]))
        if tag in ("video", "img", "svg", "i") and self._title:
            self.sections[self._title] += f"[{tag}]"
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
        elif tag == "code":
            self.commands.append("")
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass
        if tag == "section":
            self._title = None

    def handle_data(self, data: str) -> None:
        self.text += data
        if "h2" in self._open:
            self._title = data
            self.sections[data] = ""
        elif self._title:
            self.sections[self._title] += data
        if "code" in self._open:
            self.commands[-1] += data
        if "td" in self._open or "th" in self._open:
            self.tables[-1][-1][-1] += data
