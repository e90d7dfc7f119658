"""What operators ask and command: whether they may, what is made of it, and what is written down.

Open ``control_api`` first, then ``front_desk`` and ``control``.

It may touch what ``agent`` may, and of the rooms beside it ``asking`` and ``view``.
"""
