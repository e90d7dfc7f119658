"""One agent: the pure node, and the world that it is driven in.

It puts the rooms below together and decides little. Open ``process`` first, then ``runtime`` and
``effects``. ``input`` feeds Spark, ``answers`` finishes windows, ``control`` answers operators,
``care`` looks after the agent itself.

It may touch every room but ``cli`` and ``local``.
"""
