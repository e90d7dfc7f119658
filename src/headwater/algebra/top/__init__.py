"""The largest groups over all sites, in three steps, while most of the others stay at their sites.

Open ``steps`` first: what a site sends at each step, and what the root makes of it. ``request`` is
the root's word to the sites, ``keyed`` rows as these parts see them.

It may touch what ``algebra`` may, and of the rooms beside it ``remainders``.
"""
