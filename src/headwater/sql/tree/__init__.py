"""What a stream asks, as frozen nodes that refuse to be made wrong.

Open ``nodes`` first, then ``items``, of which they are made, and ``slots``: how an expression
speaks of groups.

It may touch what ``sql`` may, and of the rooms beside it ``read`` and ``types``.
"""
