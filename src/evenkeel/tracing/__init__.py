"""Traces by OpenTelemetry, sent by OTLP over HTTP. Only imported if they are turned on."""
