"""A browser that visits the app."""

READY = "body[data-ready=true]"
ADA = "Ada Lovelace"


class Visitor:
    """A browser of its own, with what it was told and what it asked for."""

    def __init__(self, browser, **context):
        self.context = browser.new_context(viewport={"width": 1366, "height": 768}, **context)
        self.told, self.asked = [], []
        self.expected = ()  # what browsers note by themselves of answers that a test provokes

    def page(self):
        page = self.context.new_page()
        page.on("console", lambda message: self.told.append(message.text))
        page.on("pageerror", lambda error: self.told.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))
        return page

    def enter(self, address):
        """Open the printed address."""
        page = self.page()
        page.goto(address)
        page.wait_for_url("**/plate")
        self.origin = address.partition("/open")[0]
        return page

    def open(self, path, page=None):
        page = page or self.page()
        page.goto(self.origin + path)
        if path.startswith("/fields/"):
            page.wait_for_selector(READY)
        return page

    def be(self, name):
        self.context.add_cookies(
            [{"name": "nearboost-who", "value": name.replace(" ", "%20"), "url": self.origin}]
        )
