"""What links and ways carry, as pure values: each measure by itself, and what is told of all.

Open ``way_capacity`` first.

It may touch what ``algebra`` may, and no room beside it.
"""
