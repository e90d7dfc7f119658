"""What the simulated federation is made of: sites, their processes and disks, links, clocks,
people.

Open ``world`` first, then ``life``.

It may touch what ``sim`` may, and of the rooms beside it ``check``, ``faults``, ``records``
and ``shedding``.
"""
