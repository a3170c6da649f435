"""Traces by OpenTelemetry, sent by OTLP over HTTP. Imported only if traces are enabled."""
