"""What a cube keeps back of a pane that is closed. Open ``divide``: a pane's rows in two. What a
trial would have kept back is counted in ``rehearsal``.

It may touch what ``cube`` may, and no room beside it.
"""
