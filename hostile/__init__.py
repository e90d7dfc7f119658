"""A hostile certified site against real agents: does each of its attacks fail, from outside?

::

    writer ─► site1 (root, Spark) ── relay1 ── site2 (Spark) ◄─ writer
       │            │    ▲              ▲          ▲
       │            │    └── TLS, with the key of site3, which lies ── an operator's key
       │            │                                               ── no key at all
       └─ truth ─► answers                                          ── a user of the machine

The agents are the processes that ``headwater agent`` runs. Nobody runs the last site: its key is
stolen, and this program speaks with it, by the project's own TLS and codec, and says what it likes.
Where an attack needs an operator's hand, an ordinary operator's certificate is used for what the
command line would never sign. Each row of the table is one thing that an attacker could once do. It
is tried, and then looked at from outside: agents live and answer, the refusal is shown or counted,
and the honest stream's answers are right. In the end all agents are started again, and the honest
stream must go on and be exact, window by window, against what was written.
"""
