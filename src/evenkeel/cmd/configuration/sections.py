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

CONTROLLER_OPTION_GROUPS: OptionGroups = {
    None: options.COMMON_OPTIONS + options.CONTROLLER_OPTIONS,
    "database": options.DATABASE_OPTIONS,
    "api": options.API_OPTIONS + identity_options.API_AUTHENTICATION_OPTIONS + ADDRESSES,
    "api_settings": tls_options.API_TLS_OPTIONS,
    "identity": identity_options.IDENTITY_OPTIONS,
    "network": network_options.NETWORK_OPTIONS,
    "neutron": network_options.NEUTRON_OPTIONS,
    notification_options.NOTIFICATIONS_SECTION: notification_options.NOTIFICATION_OPTIONS,
    "certificates": key_manager_options.CERTIFICATE_OPTIONS,
    "barbican": key_manager_options.BARBICAN_OPTIONS,
    "vault": vault_options.VAULT_OPTIONS,
    acme_options.ACME_SECTION: acme_options.ACME_OPTIONS,
    "quotas": quota_options.QUOTA_OPTIONS,
    "limits": limit_options.LIMIT_OPTIONS,
    "series": series_options.SERIES_OPTIONS,
    "metrics": metrics_options.CONTROLLER_METRICS_OPTIONS,
    "tracing": tracing_options.TRACING_OPTIONS,
}
AGENT_OPTION_GROUPS: OptionGroups = {
    None: options.COMMON_OPTIONS + options.AGENT_OPTIONS,
    neutron_agent_options.NEUTRON_AGENT_SECTION: neutron_agent_options.NEUTRON_AGENT_OPTIONS,
    "metrics": metrics_options.METRICS_OPTIONS,
    "tracing": tracing_options.TRACING_OPTIONS,
}
