"""Shedding at simulated sites: who sets input aside and reads it. Open
``aside_spark``.

It may touch what ``sim`` may, and of the rooms beside it ``records`` and ``world``.
"""
