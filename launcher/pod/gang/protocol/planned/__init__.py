"""The gang's protocol as pure functions: no socket, no clock, no volume."""
