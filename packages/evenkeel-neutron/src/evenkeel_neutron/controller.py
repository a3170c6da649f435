"""Neutron's controller of ``/v2.0/lbaas``. It has no resource, so Neutron's own policy, quotas and
notifications do not apply to the requests: the controllers of Even Keel have their own.
"""

from typing import Any
from urllib.parse import quote

import pecan

from evenkeel_neutron.forwarding import ForwardedRequest, Forwarder


class LbaasController:
    """Forwards every request for a path below ``/v2.0/lbaas``."""

    collection = None
    resource = None

    def __init__(self, forwarder: Forwarder) -> None:
        self._forwarder = forwarder

    @pecan.expose(content_type="application/json")  # type: ignore[untyped-decorator]
    def _default(self, *_path: str, **_query: Any) -> Any:
        request = pecan.request
        mounted = quote(request.script_name)
        reply = self._forwarder.forward(
            ForwardedRequest(
                method=request.method,
                path=request.path.removeprefix(mounted),
                query=request.query_string,
                headers=request.headers,
                body=request.body,
                root=request.host_url + mounted,
            )
        )
        return pecan.Response(body=reply.body, status=reply.status, headerlist=list(reply.headers.items()))
