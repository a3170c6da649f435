"""The API extension ``lbaasv2``: everything below ``/v2.0/lbaas`` is one controller's, which forwards it."""

from typing import Any

from neutron.pecan_wsgi.controllers.utils import PecanResourceExtension
from neutron_lib.api import extensions
from neutron_lib.plugins import directory

from evenkeel_neutron.controller import LbaasController
from evenkeel_neutron.plugin import EXTENSION_ALIAS, PLUGIN_TYPE


class Lbaasv2(extensions.ExtensionDescriptor):  # type: ignore[misc]
    """Description of the API extension ``lbaasv2`` for Neutron."""

    @classmethod
    def get_name(cls) -> str:
        return "LoadBalancing service v2"

    @classmethod
    def get_alias(cls) -> str:
        return EXTENSION_ALIAS

    @classmethod
    def get_description(cls) -> str:
        return "Load balancers, served by Even Keel"

    @classmethod
    def get_updated(cls) -> str:
        return "2026-11-28T00:00:00-00:00"

    @classmethod
    def get_pecan_resources(cls) -> list[Any]:
        """Return the controller of the path ``lbaas``."""
        plugin = directory.get_plugin(PLUGIN_TYPE)
        return [PecanResourceExtension("lbaas", LbaasController(plugin.forwarder), plugin)]
