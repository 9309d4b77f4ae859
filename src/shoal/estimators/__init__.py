"""The scikit-learn face of the algorithms."""

from shoal.estimators.bounds import PrivateBounds
from shoal.estimators.convergent import ConvergentKMeans
from shoal.estimators.coreset import CoresetKMeans, PrivateCoreset
from shoal.estimators.explanation import Explanation, explain
from shoal.estimators.genetic import GeneticKMeans
from shoal.estimators.grid import GridKMeans, HybridKMeans
from shoal.estimators.k_variates import KVariates
from shoal.estimators.kmeans import KMeans, SwapLloyd, TreeKMeans
from shoal.estimators.lloyd import DPLloyd
from shoal.estimators.lsh_tree import LSHTreeKMeans
from shoal.estimators.medians import KMedians
from shoal.estimators.merging import MergingKMeans
from shoal.estimators.pca import PrivatePCA
from shoal.estimators.planning import EvenGroups, Plan, plan
from shoal.estimators.profile import GroupProfile
from shoal.estimators.projected import ProjectedKMeans
from shoal.estimators.sample_aggregate import SampleAggregateKMeans
from shoal.estimators.scaler import PrivateScaler
from shoal.estimators.search import PrivateSearchCV
from shoal.estimators.subcluster import SubClusterKMeans
from shoal.estimators.synopsis import GridSynopsis, MaskedGridSynopsis, PrivTreeSynopsis

__all__ = [
    "ConvergentKMeans",
    "CoresetKMeans",
    "DPLloyd",
    "EvenGroups",
    "Explanation",
    "GeneticKMeans",
    "GridKMeans",
    "GridSynopsis",
    "GroupProfile",
    "HybridKMeans",
    "KMeans",
    "KMedians",
    "KVariates",
    "LSHTreeKMeans",
    "MaskedGridSynopsis",
    "MergingKMeans",
    "Plan",
    "PrivTreeSynopsis",
    "PrivateBounds",
    "PrivateCoreset",
    "PrivatePCA",
    "PrivateScaler",
    "PrivateSearchCV",
    "ProjectedKMeans",
    "SampleAggregateKMeans",
    "SubClusterKMeans",
    "SwapLloyd",
    "TreeKMeans",
    "explain",
    "plan",
]
