"""The real shell of one site in seeded schedules: threads, disk, time and Spark made to misbehave.

The simulator (``headwater.sim``) drives the pure machines. Here everything around them runs as it
does in an agent: cube, follower, cuts, feeder, effect runner, answer runner, ledger, results, the
Spark host and its streams, on real files and real SQLite. Only four things are replaced, each by
something that one seed rules: the order of threads (``turns``), the clock (``virtual_loop``), the
disk (``troubled_disk``), and Spark itself (``stand_ins``). ``python -m schedules`` runs many.
"""
