"""What a stream asks, as frozen nodes that refuse to be made wrong.

Open ``nodes`` first, then ``slots``: how an expression speaks of groups.
"""
