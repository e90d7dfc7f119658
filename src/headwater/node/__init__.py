"""The machines of one agent, wired: the peer that carries, the edge of its site, the roots it
hosts.

The whole of an agent without the world: inputs in, ``effects`` out. An agent and the simulator
drive the same object. Open ``node`` first, then ``exchange``, ``duties`` and ``effects``.

It may touch ``placement``, the three machines, and what is below them.
"""
