"""A question that a Spark session asks: the command does it, and its answer is read as results.

``spark.read.format("headwater").option("ask", "SELECT …").option("since", "7d")`` runs
``headwater ask`` where the driver's worker runs, which needs Headwater installed and an operator's
certificate in the federation's directory (option ``federation``). What it says goes to the worker's
standard error.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping

from headwater.spark.results.results_layout import ResultsUnreadable

PASSED = ("since", "from", "to", "sites", "federation", "at")
"""Options of the source that are options of the command."""
FLAGS = ("logs", "open")
WORDS_SHOWN = 1_000


def asked_stream(options: Mapping[str, str]) -> str:
    """Ask, and wait for the answer; what the question is called, whose answer is in the results of
    the agent that has answered. Raises ``ResultsUnreadable`` with the command's own words."""
    command = [sys.executable, "-m", "headwater.cli", "ask", options["ask"], "--yes", "-o", "json"]
    for name in PASSED:
        if options.get(name):
            command += [f"--{name}", options[name]]
    flags = [one for one in FLAGS if options.get(one, "false").lower() == "true"]
    command += [f"--{flag}" for flag in flags]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        words = done.stderr.strip()[-WORDS_SHOWN:]
        raise ResultsUnreadable(
            f"headwater: wanted an answer to the question, got what the command says: {words}"
        )
    events = [json.loads(line) for line in done.stdout.splitlines() if line.strip()]
    answers = [event for event in events if "header" in event]
    if not answers:
        raise ResultsUnreadable("headwater: wanted an answer to the question, got none")
    return str(answers[0]["header"]["stream"])
