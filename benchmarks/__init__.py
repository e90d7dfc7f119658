"""Measurements: ratios side by side in one run, with the machine noted. Never tests."""
