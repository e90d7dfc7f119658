"""Each group of commands of ``headwater``: arguments in, values of the rooms below, shown.

Open ``try_command`` or ``operator_commands`` first.

It may touch what ``cli`` may, and of the rooms beside it ``show``.
"""
