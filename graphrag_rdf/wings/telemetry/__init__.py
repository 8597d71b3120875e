"""Questions as spans of OpenTelemetry."""
