"""The site as it was built: nothing is asked of another host, links lead somewhere, pages fit, search finds.

`make docs` builds the site and runs these; elsewhere ``NEARBOOST_SITE`` names a site that was built.
"""

import os
from functools import cache, partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

import pytest

import nearboost

SITE = Path(os.environ.get("NEARBOOST_SITE", ""))
pytestmark = pytest.mark.skipif(
    "NEARBOOST_SITE" not in os.environ, reason="NEARBOOST_SITE names no built site; `make docs` does"
)
N3 = "generated/api/nearboost.N3Classifier.html"
PAGES = ["index.html", "api.html", "boosted-neighbours.html", "benchmarks.html", N3, "search.html"]
PAGES += ["generated/api/nearboost.NearBoostClassifier.html"]  # a long name
PAGES += ["choosing.html", "tutorials/vectors.html"]
PAGES += ["generated/gallery/index.html", "generated/gallery/trust/plot_reliability.html"]
LOADED = {("link", "href"), ("script", "src"), ("img", "src"), ("source", "srcset"), ("iframe", "src")}
TOO_WIDE = """() => [...document.querySelectorAll("body *")].filter(one => {
    const box = one.getBoundingClientRect(), seen = one.checkVisibility({visibilityProperty: true});
    return seen && box.width && box.right > innerWidth + 1 && box.left < innerWidth
        && !one.closest("table, pre, mjx-container, dialog, .pst-scrollable-table-container, .visually-hidden")
        && !(one.tagName == "IMG" && getComputedStyle(one.parentElement).overflowX == "auto");
}).map(one => `${one.tagName}.${one.className}`)"""


class Parsed(HTMLParser):
    """Anchors of a page, where its links go, and what it loads."""

    def __init__(self, text):
        super().__init__()
        self.anchors, self.links, self.loads = {"", "top"}, set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors |= {found.get("id"), found.get("name") if tag == "a" else None}
        for name, value in attributes:
            if (tag, name) in LOADED and value:
                self.loads.add(value)
            elif (tag, name) == ("a", "href") and value:
                self.links.add(value)


@cache
def parsed(path):
    return Parsed(path.read_text(encoding="utf-8"))


def pages():
    return sorted(path for path in SITE.rglob("*.html") if "_static" not in path.relative_to(SITE).parts)


def test_links_and_anchors_lead_somewhere():
    lost, n_seen = [], 0
    for page in pages():
        for link in parsed(page).links | parsed(page).loads:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            n_seen += 1
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page.resolve()
            anchor = unquote(parts.fragment).partition(":~:")[0]  # what follows is a text to look for
            known = target.exists() and (target.suffix != ".html" or anchor in parsed(target).anchors)
            if not known:
                lost.append(f"{page.relative_to(SITE)}: {link}")
    assert lost == []
    assert n_seen > 10_000  # a page's menu alone has dozens


def test_pages_load_what_lies_in_the_site():
    assert [load for page in pages() for load in parsed(page).loads if urlsplit(load).netloc] == []


def test_every_public_class_has_a_page_that_leads_to_scripts():
    assert (SITE / N3).exists()
    assert any("gallery" in link and "plot_boosted_votes" in link for link in parsed(SITE / N3).links)
    for name, script in (("ReliabilityDisplay", "plot_reliability"), ("VotersDisplay", "plot_explanation")):
        assert f"{script}.html" in str(parsed(SITE / f"generated/api/nearboost.plotting.{name}.html").links)


def test_pages_of_functions_lead_to_scripts():
    for name, script in (("segment_project", "plot_plate"), ("stain_floor", "plot_segmentation")):
        assert f"{script}.html" in str(parsed(SITE / f"generated/api/nearboost.cells.{name}.html").links)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def address():
    """The site, served to this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=SITE)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture(scope="module")
def opened(browser, address):
    """Opens a page, and keeps what it asks for and what goes wrong in it."""
    asked, wrong = [], []

    def open_page(name, width=1280, mode="light"):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=mode)
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: wrong.append(f"{name}: {error}"))
        page.goto(address + name)
        page.wait_for_timeout(500)  # for what scripts do after the page has loaded
        assert wrong == []
        return page

    open_page.asked = asked
    return open_page


@pytest.mark.parametrize("name", PAGES)
def test_no_page_asks_another_host(opened, address, name):
    opened.asked.clear()
    page = opened(name)
    outside = [url for url in opened.asked if not url.startswith((address, "data:", "blob:"))]
    assert outside == []
    assert len(opened.asked) > 3  # the page, its style, its scripts
    page.context.close()


def test_formulas_are_drawn(opened):
    page = opened("boosted-neighbours.html")
    page.wait_for_selector("mjx-container svg")
    assert page.locator("mjx-merror").count() == 0
    page.context.close()


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280])
def test_pages_fit_and_can_be_read(opened, width, mode):
    for name in PAGES:
        page = opened(name, width, mode)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        assert page.evaluate(TOO_WIDE) == [], name
        assert page.evaluate("document.documentElement.dataset.theme") == mode
        ink, paper = (
            page.evaluate(f"getComputedStyle(document.querySelector('{where}')).{what}")
            for where, what in (("main", "color"), ("body", "backgroundColor"))
        )
        assert (brightness(ink) < brightness(paper)) == (mode == "light"), name
        page.context.close()


def brightness(color):
    return sum(float(part) for part in color[color.index("(") + 1 : -1].split(",")[:3])


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_version_is_shown(opened, mode):
    page = opened("index.html", mode=mode)
    version = page.locator(".version").first
    assert version.inner_text() == nearboost.__version__
    ink = brightness(version.evaluate("one => getComputedStyle(one).color"))
    assert ink < 400 if mode == "light" else ink > 400
    page.context.close()


def test_search_finds(opened):
    page = opened("search.html?q=N3Classifier")
    page.wait_for_selector("ul.search li a")
    assert "nearboost.N3Classifier" in str(
        [one.get_attribute("href") for one in page.locator("ul.search a").all()]
    )
    page.context.close()
