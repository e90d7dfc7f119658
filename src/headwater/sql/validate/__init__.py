"""All that is wrong with a file of statements, at once, and what is legal and probably wrong.

Open ``validate`` first, then ``repair_question``: how it goes on after a fault.

It may touch what ``sql`` may, and of the rooms beside it ``read``, ``resolve``, ``tree`` and
``types``.
"""
