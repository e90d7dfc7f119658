"""What is shown of a federation: one value, whoever draws it (command line, demo).

Looks at a runtime and changes nothing. Open ``federation_view`` first; ``stream_lines`` and
``site_lines`` are how one agent fills it.

It may touch what ``agent`` may, and of the rooms beside it ``answers``, ``care`` and ``control``.
"""
