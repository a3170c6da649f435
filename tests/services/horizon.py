"""A real Horizon of our own with its load balancer panel (octavia-dashboard): its settings, login and REST views, one
process with threads. It is installed in a virtual environment of its own."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx

from tests.services.installation import environment
from tests.services.openstack import WSGI_SERVER, OpenStackServer

VERSION = "27.0.0"
PANEL_VERSION = "18.0.0"
VARIABLE = "EVENKEEL_TEST_HORIZON"
REQUEST_SECONDS = 120.0
VIEW = "x-view"
"""Header of answers, for tests: method and class of the view."""

_SETTINGS = """
import os

from openstack_dashboard.settings import *

SECRET_KEY = "known to everybody, as this is a test"
ALLOWED_HOSTS = ["*"]
OPENSTACK_KEYSTONE_URL = os.environ["KEYSTONE_URL"]
OPENSTACK_NEUTRON_NETWORK = {**OPENSTACK_NEUTRON_NETWORK, "enable_router": False}
INSTALLED_APPS = [*INSTALLED_APPS, "octavia_dashboard"]
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
SESSION_ENGINE = "django.contrib.sessions.backends.cache"
COMPRESS_ENABLED = False
LOGGING = {"version": 1}
HORIZON_CONFIG["ajax_poll_interval"] = 100
MIDDLEWARE = ["serve.name_view", *MIDDLEWARE]
"""
"""What an operator sets: Keystone, the panel, and no router without Neutron; the rest is for tests."""

_PROGRAM = """
import json

METHODS = ("get", "post", "put", "delete")


def name_view(get_response):
    def answered(request):
        answer = get_response(request)
        view = getattr(getattr(request.resolver_match, "func", None), "view_class", None)
        answer["X-View"] = f"{request.method} {view.__name__}" if view else ""
        return answer

    return answered


def views(patterns):
    for pattern in patterns:
        view = getattr(pattern.callback, "view_class", None)
        if view is not None and view.__module__ == "octavia_dashboard.api.rest.lbaasv2":
            yield from (f"{method.upper()} {view.__name__}" for method in METHODS if hasattr(view, method))


if __name__ == "__main__":
    from django.core.wsgi import get_wsgi_application

    application = get_wsgi_application()
    import octavia_dashboard.api.rest
    from openstack_dashboard.api.rest import urls

    with open(os.environ["HOME"] + "/views.json", "w") as file:
        json.dump(sorted(views(urls.urlpatterns)), file)
    serve(application)
"""


class Shown(NamedTuple):
    """What a view answered."""

    status: int
    body: Any
    view: str
    """Method and class of the view."""


def installed() -> Path:
    """The virtual environment that it is in: what the variable names, or our own. Raises :class:`NotInstallable`."""
    given = os.environ.get(VARIABLE)
    wanted = [f"horizon=={VERSION}", f"octavia-dashboard=={PANEL_VERSION}"]
    return Path(given) if given else environment("horizon", VERSION, wanted)


class HorizonServer(OpenStackServer):
    """One Horizon."""

    start_seconds = 300.0

    def __init__(self, venv: Path, keystone_url: str) -> None:
        super().__init__("evenkeel-horizon-")
        self._programs = venv / "bin"
        self._keystone_url = keystone_url
        (self._home / "horizon_settings.py").write_text(_SETTINGS)
        (self._home / "serve.py").write_text(WSGI_SERVER + _PROGRAM)

    def start(self) -> None:
        """Start and wait until browsers are served; nothing to do if it runs."""
        if not self.running:
            self._begin([self._programs / "python", "-W", "ignore", self._home / "serve.py"])

    def views(self) -> list[str]:
        """Methods and classes of all views of the panel."""
        found: list[str] = json.loads((self._home / "views.json").read_text())
        return found

    def _asked(self) -> str:
        return f"{self.url}/auth/login/"

    def _more_environment(self) -> Mapping[str, str]:
        return {
            "PYTHONPATH": str(self._home),
            "DJANGO_SETTINGS_MODULE": "horizon_settings",
            "KEYSTONE_URL": self._keystone_url,
        }


class Browser:
    """What a page of the panel sends, after a login."""

    def __init__(self, http: httpx.Client) -> None:
        self._http = http

    @classmethod
    @contextmanager
    def of(cls, server: HorizonServer, user: str, password: str) -> "Iterator[Browser]":
        """Logged in by the form, in the user's default project."""
        with httpx.Client(base_url=server.url, timeout=REQUEST_SECONDS) as http:
            http.get("/auth/login/")
            form = {"username": user, "password": password, "region": "default", "auth_type": "credentials"}
            answer = http.post("/auth/login/", data={**form, "csrfmiddlewaretoken": http.cookies["csrftoken"]})
            assert answer.status_code == 302, answer.text
            yield cls(http)

    def ask(self, method: str, path: str, body: Any = None) -> Shown:
        """Below ``/api/lbaas``."""
        headers = {"X-Requested-With": "XMLHttpRequest", "X-CSRFToken": self._http.cookies["csrftoken"]}
        answer = self._http.request(method, f"/api/lbaas{path}", json=body, headers=headers)
        is_json = answer.headers.get("content-type") == "application/json" and answer.content
        return Shown(answer.status_code, answer.json() if is_json else answer.text, answer.headers[VIEW])
