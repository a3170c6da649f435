"""Destinations of a device's logs and samples, and scripts that it runs on events. Defaults from memory."""

from __future__ import annotations

from icontrol_emulator.config.rules.misc import PublisherRules
from icontrol_emulator.config.schema import TypeSpec, names
from icontrol_emulator.config.types.tables import open_type, settings

_DESTINATION = "sys/log-config/destination"
_DAEMONS = ("clusterd", "csyncd", "icrd", "lind", "mcpd")
_SAMPLES = ("http", "interface", "system", "vlan")

SPECS = [
    open_type(f"{_DESTINATION}/alertd", "log destination", family="log-destination"),
    open_type(f"{_DESTINATION}/arcsight", "log destination", family="log-destination", forwardTo="none"),
    open_type(f"{_DESTINATION}/ipfix", "log destination", family="log-destination", pool="none",
              protocolVersion="ipfix", serversslProfile="none", templateDeleteDelay=5, templateRetransmitInterval=30,
              transportProfile="/Common/udp"),
    open_type(f"{_DESTINATION}/local-database", "log destination", family="log-destination"),
    open_type(f"{_DESTINATION}/local-syslog", "log destination", family="log-destination",
              defaultFacility="local0", defaultSeverity="info"),
    open_type(f"{_DESTINATION}/management-port", "log destination", family="log-destination", port=0,
              protocol="tcp"),
    open_type(f"{_DESTINATION}/remote-high-speed-log", "log destination", family="log-destination",
              distribution="adaptive", poolName="none", protocol="tcp"),
    open_type(f"{_DESTINATION}/remote-syslog", "log destination", family="log-destination",
              defaultFacility="local0", defaultSeverity="info", format="rfc3164", remoteHighSpeedLog="none"),
    open_type(f"{_DESTINATION}/splunk", "log destination", family="log-destination", forwardTo="none"),
    open_type("sys/log-config/filter", "log filter", level="debug", messageId="none", publisher="none", source="all"),
    TypeSpec(path="sys/log-config/publisher", word="log publisher", rules=PublisherRules(),
             optional=names("destinations")),
    *(settings(f"sys/daemon-log-settings/{daemon}", logLevel="notice") for daemon in _DAEMONS),
    settings("sys/daemon-log-settings/tmm", arpLogLevel="warning", httpCompressionLogLevel="error",
             httpLogLevel="error", ipLogLevel="warning", iruleLogLevel="informational", layer4LogLevel="notice",
             netLogLevel="warning", osLogLevel="notice", pvaLogLevel="informational", sslLogLevel="warning"),
    *(settings(f"sys/sflow/global-settings/{kind}", pollInterval=10, samplingRate=1024) for kind in _SAMPLES),
    open_type("sys/sflow/receiver", "sFlow receiver", maxDatagramSize=1400, port=6343, state="disabled"),
    open_type("sys/icall/handler/periodic", "iCall handler", interval=0, status="active"),
    open_type("sys/icall/handler/perpetual", "iCall handler", status="active"),
    open_type("sys/icall/handler/triggered", "iCall handler", status="active"),
    open_type("sys/icall/istats-trigger", "iStats trigger"),
    open_type("sys/icall/script", "iCall script"),
    open_type("cli/script", "CLI script"),
    settings("cli/global-settings", audit="enabled", idleTimeout="disabled", service="name"),
    settings("cli/preference", confirmEdit="enabled", displayThreshold=100, editor="vi", pager="enabled",
             showAliases="enabled", statUnits="default", tableIndentWidth=4, videoMode="enabled", warn="bell"),
    open_type("cli/alias/private", "CLI alias"),
    open_type("cli/alias/shared", "CLI alias"),
]  # fmt: skip
