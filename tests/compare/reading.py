"""What a page says, read by a parser that knows nothing of the templates."""

from html.parser import HTMLParser

VOID = {"meta", "link", "img", "br", "wbr", "hr", "input"}


class Page(HTMLParser):
    """Elements with their attributes and texts, in the order of the page."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.elements, self._open = [], []
        self.feed(html)
        self.close()
        assert not self._open, f"never closed: {[element['tag'] for element in self._open]}"

    def handle_starttag(self, tag, attributes):
        element = {"tag": tag, "attributes": dict(attributes), "text": "", "path": [e["tag"] for e in self._open]}
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag):
        assert self._open.pop()["tag"] == tag

    def handle_data(self, data):
        for element in self._open:
            element["text"] += data

    def all(self, tag, **attributes):
        """Elements of this tag that have these attributes; ``class_`` asks for one of the classes."""
        wanted = attributes.pop("class_", None)
        return [
            element
            for element in self.elements
            if element["tag"] == tag
            and (wanted is None or wanted in (element["attributes"].get("class") or "").split())
            and all(element["attributes"].get(name) == value for name, value in attributes.items())
        ]

    def tables(self):
        """Caption to a list of rows, each a list of texts, header first."""
        found, rows = {}, None
        for element in self.elements:
            text = " ".join(element["text"].split())
            if element["tag"] == "caption":
                rows = found[text] = []
            elif element["tag"] == "tr":
                rows.append([])
            elif element["tag"] in ("th", "td"):
                rows[-1].append(text)
        return found
