"""The five papers' figures and tables, declared. Those whose algorithms are not there yet wait for them.

Every method gets the same public bounds; the papers normalised with the rows' own minimum and maximum.
"""

from shoal.bench.experiment import Experiment
from shoal.bench.papers import balcan, feldman, joshi, ni, su

EXPERIMENTS: tuple[Experiment, ...] = (
    *su.EXPERIMENTS,
    *balcan.EXPERIMENTS,
    *joshi.EXPERIMENTS,
    *ni.EXPERIMENTS,
    *feldman.EXPERIMENTS,
)
