"""Which panes a site that is short of CPU leaves out, and what becomes of their input.

Pure: no clock, no disk. Open ``choose_skip`` first: which pane can be made in time, and how far the
input before it is skipped. ``pane_estimate`` says when the pane under way will be done, ``asides``
what a query's site knows of input that was set aside, ``site_shedding`` is all of that for a site.

It may touch what ``edge`` may, and of the rooms beside it ``batches`` and ``closing``.
"""
