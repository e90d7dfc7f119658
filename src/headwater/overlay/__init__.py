"""How summaries, states, acknowledgements and commands travel between agents.

A machine that one drives: messages and ticks in, outputs out, time as an argument. It carries what
it does not understand and merges what belongs together. Open ``messages`` first, then ``peer``.
``links`` has the neighbours, ``ways`` which way leads on, ``carry`` what goes it, ``commands`` who
runs what, ``coordinates`` who is where, ``clocks`` what time it is at a root.

It may touch ``plan`` and ``algebra``, not the edge and not the root.
"""
