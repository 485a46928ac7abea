"""What every estimator is: scikit-learn's, with its own page behind the diagram that notebooks show."""

import os
import sys
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator

SITE = "NEARBOOST_DOCS"  # names the documentation: an address, or the full path of a folder
CHECKOUT = Path(__file__).resolve().parents[3] / "site"  # where `make docs` writes


def find_site() -> str:
    """Where the documentation lies, for a browser; empty where nobody has built or named one."""
    place = os.environ.get(SITE, str(CHECKOUT) if (CHECKOUT / "index.html").exists() else "")
    return Path(place).as_uri() if os.path.isabs(place) else place.rstrip("/")


class Estimator(BaseEstimator):
    """Base of all estimators."""

    _doc_link_module = "nearboost"

    @property
    def _doc_link_template(self) -> str:
        """The page of a public class in the documentation; nothing for others, and where there is no site."""
        site, name = find_site(), type(self).__name__
        packages = type(self).__module__.split(".")[:2]
        for package in (packages[0], ".".join(packages)):
            if site and name in getattr(sys.modules[package], "__all__", ()):
                return f"{site}/generated/api/{package}.{name}.html".replace("{", "{{").replace("}", "}}")
        return ""

    @_doc_link_template.setter
    def _doc_link_template(self, value: Any) -> None:
        raise AttributeError(f"The link follows {SITE}; set that to the place of the documentation.")
