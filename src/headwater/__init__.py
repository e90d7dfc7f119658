"""Headwater: continuous questions about data that is born in many places."""

__version__ = "0.3.0"
