"""What the figures after Heintz et al. share: traces, a narrow link, baselines and optima.

Open ``traces`` first, then ``link``, which drives the product's key book; ``baselines`` and
``optima`` need nothing of the product.
"""
