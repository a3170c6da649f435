"""The service plugin, named in ``[DEFAULT] service_plugins`` of ``neutron.conf``."""

from neutron_lib.services import base
from oslo_config import cfg

from evenkeel_neutron.forwarding import Forwarder
from evenkeel_neutron.options import parse_settings, register_opts

EXTENSION_ALIAS = "lbaasv2"
PLUGIN_TYPE = "LOADBALANCERV2"


class EvenKeelPlugin(base.ServicePluginBase):  # type: ignore[misc]
    """Announces the extension ``lbaasv2``, and makes the forwarder that the extension's controller uses.
    Raises :class:`ValueError` for wrong options.
    """

    supported_extension_aliases = (EXTENSION_ALIAS,)

    def __init__(self) -> None:
        super().__init__()
        register_opts(cfg.CONF)
        self.forwarder = Forwarder(parse_settings(cfg.CONF))

    @classmethod
    def get_plugin_type(cls) -> str:
        """Return the type under which Neutron registers the plugin."""
        return PLUGIN_TYPE

    def get_plugin_description(self) -> str:
        """Return a description for operators."""
        return "Forwards requests for load balancers to Even Keel's controllers."
