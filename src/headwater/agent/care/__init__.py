"""The agent's own health: its place, its JVMs' deaths, its certificates.

Open ``doctor`` first.
"""
