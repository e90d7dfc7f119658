"""Questions about the past, at an agent: prepared where they are asked, answered where panes are.

``site_questions`` is where to begin: what a site does with a question that it has admitted.
``preparing`` is the other end. Both touch the node on its own loop only; cubes and Spark are asked
in a thread.

It may touch what ``agent`` may, and of the rooms beside it ``control``.
"""
