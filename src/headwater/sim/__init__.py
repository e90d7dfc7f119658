"""A federation in virtual time, from one seed: the first test bed of every protocol here.

The machines are the real ones (``node.Node`` and what it wires together). What they would ask of
the world is simulated: a clock for each site, links that break, disks that fill or vanish, a Spark
that stalls and repeats its batches. Records are numbered, so a checker compares sets, not counts.
Open ``scenario`` first, then ``world.world``; ``faults`` go wrong in it, ``check`` judges it.

It may touch ``node`` and what is below it; of the rooms that know the world, none.
"""
