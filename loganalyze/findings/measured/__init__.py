"""Measured facts of a run: times and rates, placement, telemetry, expected speed, changes inside a request.

Nothing here judges; ``loganalyze.findings.facts.measure`` puts the parts together.
"""
