"""Mortar, figure 10: latency when clocks are off. The runs are those of figure 9."""

from __future__ import annotations

from experiments.fig_09 import main

if __name__ == "__main__":
    main()
