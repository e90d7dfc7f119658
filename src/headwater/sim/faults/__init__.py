"""What goes wrong in a simulation, drawn from the seed, and a member that lies.

Open ``faults`` first.

It may touch what ``sim`` may, and of the rooms beside it ``world``.
"""
