"""A page as somebody reads it: its anchors, links, headings and language, without a browser."""

from html.parser import HTMLParser

VOID = {"meta", "link", "br", "hr", "img", "input"}


class Page(HTMLParser):
    """What is on a page. AssertionError if its elements do not close in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loads: list[str] = []
        self.headings: list[int] = []
        self.attributes: set[str] = set()
        self.elements: set[str] = set()
        self.language: str | None = None
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.elements.add(tag)
        self.attributes |= given.keys()
        if "id" in given:
            self.ids.append(given["id"] or "")
        if tag == "html":
            self.language = given.get("lang")
        if tag == "a":
            self.links.append(given["href"] or "")
        elif "href" in given or "src" in given:
            self.loads.append(given.get("href") or given.get("src") or "")
        if tag in {"h1", "h2", "h3"}:
            self.headings.append(int(tag[1]))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)
