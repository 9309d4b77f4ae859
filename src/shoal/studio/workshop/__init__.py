"""What a studio does, without any page: open, declare, prepare, explore, release.

Everything is synchronous and typed; values are frozen and have `to_dict()`; errors are `shoal.errors`.

>>> from tempfile import TemporaryDirectory
>>> folder = TemporaryDirectory()
>>> study = Studio.demo(folder.name).studies()[0]
>>> study.price_of("good").sentence
"a release at level 'good' costs epsilon 1; 9 of 10 remains after it"
>>> folder.cleanup()
"""

from shoal.studio.workshop.draft import ESTIMATE, Draft
from shoal.studio.workshop.drawing import svg_map
from shoal.studio.workshop.files import Download
from shoal.studio.workshop.jobs import Job
from shoal.studio.workshop.levels import LEVELS, Level, level_of, risk_sentence
from shoal.studio.workshop.releases import ReleaseRecord
from shoal.studio.workshop.story import BudgetStory, Spending
from shoal.studio.workshop.studio import LOCAL, UPLOAD_LIMIT, Studio
from shoal.studio.workshop.study import Study
from shoal.studio.workshop.values import MOST_POINTS, ColumnInfo, LevelView, Points, Price, Source

__all__ = [
    "ESTIMATE",
    "LEVELS",
    "LOCAL",
    "MOST_POINTS",
    "UPLOAD_LIMIT",
    "BudgetStory",
    "ColumnInfo",
    "Download",
    "Draft",
    "Job",
    "Level",
    "LevelView",
    "Points",
    "Price",
    "ReleaseRecord",
    "Source",
    "Spending",
    "Studio",
    "Study",
    "level_of",
    "risk_sentence",
    "svg_map",
]
