"""Federations on one machine: ``up``, ``try``, the demo, and looking into files.

It puts agents together for one person at one machine. Open ``up`` first, then ``trial.try_query``.

It may touch every room but ``cli``.
"""
