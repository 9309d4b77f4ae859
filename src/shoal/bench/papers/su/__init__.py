"""Su, Cao, Li, Bertino, Jin 2016: Differentially private k-means clustering."""

from shoal.bench.experiment import Experiment
from shoal.bench.papers.su.analysis import PREDICTED_GRID, PREDICTED_HYBRID
from shoal.bench.papers.su.scaling import FIGURE_2, FIGURE_6
from shoal.bench.papers.su.tables import FIGURE_1, FIGURE_3, FIGURE_4, FIGURE_5, FIGURE_7

EXPERIMENTS: tuple[Experiment, ...] = (
    FIGURE_1,
    FIGURE_2,
    FIGURE_3,
    FIGURE_4,
    FIGURE_5,
    FIGURE_6,
    FIGURE_7,
    PREDICTED_GRID,
    PREDICTED_HYBRID,
)
