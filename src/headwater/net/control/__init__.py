"""What operators ask of an agent, on the agents' port.

Open ``control`` first.

It may touch what ``net`` may, and of the rooms beside it ``identity`` and ``transport``.
"""
