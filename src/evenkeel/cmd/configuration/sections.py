"""The options that controllers and agents read. Device drivers declare their own."""

from evenkeel.cmd.configuration.option_groups import OptionGroups
from evenkeel.cmd.options import (
    acme_options,
    identity_options,
    key_manager_options,
    limit_options,
    metrics_options,
    network_options,
    neutron_agent_options,
    notification_options,
    options,
    quota_options,
    series_options,
    tls_options,
    tracing_options,
    vault_options,
)
from evenkeel.config.addresses import ADDRESSES

CONTROLLER: OptionGroups = {
    None: options.COMMON + options.CONTROLLER,
    "database": options.DATABASE,
    "api": options.API + identity_options.API + ADDRESSES,
    "api_settings": tls_options.API_SETTINGS,
    "identity": identity_options.IDENTITY,
    "network": network_options.NETWORK,
    "neutron": network_options.NEUTRON,
    notification_options.SECTION: notification_options.NOTIFICATIONS,
    "certificates": key_manager_options.CERTIFICATES,
    "barbican": key_manager_options.BARBICAN,
    "vault": vault_options.VAULT,
    acme_options.SECTION: acme_options.ACME,
    "quotas": quota_options.QUOTAS,
    "limits": limit_options.LIMITS,
    "series": series_options.SERIES,
    "metrics": metrics_options.CONTROLLER_METRICS,
    "tracing": tracing_options.TRACING,
}
AGENT: OptionGroups = {
    None: options.COMMON + options.AGENT,
    neutron_agent_options.SECTION: neutron_agent_options.NEUTRON_AGENT,
    "metrics": metrics_options.METRICS,
    "tracing": tracing_options.TRACING,
}
