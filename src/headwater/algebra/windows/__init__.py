"""Windows made of many panes, at a cost that hardly depends on their number; and of coarser rows.

Open ``sliding_window`` first; ``coarsening`` is what the rows of a level are.

It may touch what ``algebra`` may, and of the rooms beside it ``aggregates`` and ``rows``.
"""
