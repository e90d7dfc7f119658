"""Two hundred agents on sockets, and a root in trouble: does the trouble shed, or multiply?

::

    writer ─► 100 generators in 4 processes ─┐
       │      100 relays in 4 processes ─────┼── TLS, trees ──► home: stopped for 10 s; slow disk
       │                                     └── TLS, trees ──► beside: answers another stream
       │                                                            │
       └──────── the truth ─────────► checker ◄── published answers ┘

Network, node, cube, ledger, results and runtime are the agents' own. Two things are stand-ins,
since two cores have no room for two hundred Sparks: what Spark does between a cut and a commit
(``chaos.generator.PlainHost``), and what it does between the root's ledger and a publication
(``crowd.plain_root``). So what is claimed here is of the overlay, the sockets, the ledger and the
disk, and nothing of Spark.

Every process counts what trouble makes (dials, hosts sought, repairs, greetings) and holds it
against the budgets that the configuration names. Records are numbered and the answers are sets of
numbers, so nothing can be lost or doubled unseen.
"""
