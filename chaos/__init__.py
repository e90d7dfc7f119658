"""Real agents, real faults, numbered records: does every record come out once, and only once?

::

    writer ─► site1 (root, Spark) ◄─ proxy ─ relay1 ◄─ proxy ─ site2 (Spark) ◄─ writer
       │              │                                                           │
       │              └─ published answers ─► checker                             │
       └───────────────────── the truth ─────────┴────────────────────────────────┘

The agents are the processes that ``headwater agent`` runs, with TLS between them. A nemesis drawn
from one seed kills them, or their JVMs at one step of a batch, cuts and stalls the links between
them, deletes Spark's checkpoints, steps their clocks, fills their disks and lets them fail, stops
them or takes their processors, and removes a stream to install it again at once. Records are
numbered and the query answers with the numbers, so the checker compares sets and not counts.
Safety is checked for every published revision, liveness once the faults are over.
"""
