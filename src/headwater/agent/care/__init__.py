"""The agent's own health: its place, its JVMs' deaths, its certificates.

Open ``doctor`` first.

It may touch what ``agent`` may, and of the rooms beside it ``input``.
"""
