"""Measure accuracy and speed: experiments as values, a runner that resumes, a report that can be redrawn.

>>> from shoal.bench import EXPERIMENTS
>>> EXPERIMENTS["su-figure-1"].paper
'Su et al. 2016, figure 1'

On the command line: ``shoal bench list``, ``shoal bench run NAME``, ``shoal bench report``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.bench.claims import Claim
    from shoal.bench.experiment import Data, Experiment, Method, Quick, Sweep
    from shoal.bench.experiments import EXPERIMENTS
    from shoal.bench.report import build
    from shoal.bench.runner import run
    from shoal.bench.surely import Verdict

__all__ = [
    "EXPERIMENTS",
    "Claim",
    "Data",
    "Experiment",
    "Method",
    "Quick",
    "Sweep",
    "Verdict",
    "build",
    "run",
]

_HOMES = {
    "EXPERIMENTS": "experiments",
    "Claim": "claims",
    "Data": "experiment",
    "Experiment": "experiment",
    "Method": "experiment",
    "Quick": "experiment",
    "Sweep": "experiment",
    "Verdict": "surely",
    "build": "report",
    "run": "runner",
}


def __getattr__(name: str) -> Any:
    # Loaded when first used, so that the command line is quick to start.
    if name in _HOMES:
        return getattr(import_module(f"shoal.bench.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'shoal.bench' has no attribute {name!r}; it has {', '.join(__all__)}")
