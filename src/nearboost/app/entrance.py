"""The entrance: the printed address brings a token behind its #, which browsers send to nobody.

The page's script sends it once, takes the cookie that it is swapped for, and goes on to the first page.
"""

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from nearboost.app.answers import answer, refusal, templates
from nearboost.app.door import ENTRANCE, WEEK
from nearboost.app.given import Given
from nearboost.app.routes import get, post


def show(request: Request) -> Response:
    """A page that knows nothing of the project."""
    return HTMLResponse(templates().get_template("entrance.html.j2").render())


def enter(request: Request) -> Response:
    """Swap the token for a cookie."""
    keys, address = request.app.state.keys, request.app.state.address
    secret = keys.swap(Given(request).text("token"))
    if secret is None:
        return refusal(403, "This address was used already, or is of an earlier start; start the app again.")
    response = answer({})
    response.set_cookie(address.cookie, secret, max_age=WEEK, httponly=True, samesite="strict")
    return response


ROUTES = [get(ENTRANCE, show), post(ENTRANCE, enter)]
