"""Traces by OpenTelemetry, sent by OTLP over HTTP. This package is imported only if traces are enabled."""
