"""Questions about the past, as SQL: what is asked, of which stream's panes, and what is missing.

``subsume`` is where to begin. Pure: it reads trees and texts.

It may touch what ``sql`` may, and of the rooms beside it ``admit``, ``read``, ``tree``, ``types``
and ``write``.
"""
