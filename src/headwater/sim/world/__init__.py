"""What the simulated federation is made of: sites, their processes and disks, links, clocks,
people.

Open ``world`` first, then ``life``.
"""
