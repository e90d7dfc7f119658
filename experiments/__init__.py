"""The figures of the papers, made again with this code: ``python -m experiments.fig_01``.

Each module makes one figure, prints a short table with the paper's values beside ours, and writes
its numbers (CSV) and its picture (PNG) into ``docs/evidence/``. Pictures need matplotlib, which
``pip install -e '.[experiments]'`` brings. Measured latencies are read from ``../shared/data``;
where that is not there, a made-up world takes their place and the output says so.
"""
