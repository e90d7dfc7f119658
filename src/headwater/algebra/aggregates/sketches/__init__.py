"""Aggregates that are near the truth in little room, and say how near: sketches.

A state is one binary cell. Sites get it from Spark, others from the wire; either way it is read by
code of ours that can't be led astray before it is merged or handed to anybody. Open ``hll_cells``
first, then ``merge_hll`` and ``distinct``; ``kll_cells``, ``merge_kll`` and ``ranks`` are the same
of percentiles in ranks, ``theta_cells``, ``merge_theta`` and ``theta`` of sets of values.
Percentiles near the value have a state of rows: ``histogram``, then
``percentile`` and ``fold_percentile``, ``histogram_values`` and ``fold_histogram``.

It may touch what ``aggregates`` may, and of the rooms beside it ``growing``.
"""
