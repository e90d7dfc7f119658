"""What a query may give up where its way is too narrow, and in which order.

Values alone, as all of ``plan``. Open ``degradation`` first; ``time_hierarchy`` is which coarse
panes there are.

It may touch what ``plan`` may, and no room beside it.
"""
