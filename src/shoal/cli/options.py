"""Options that `fit` and `explain` share, their config file, and the estimator they describe."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import click

from shoal.cli.drawing import DRAWING_NAMES, DRAWING_OPTIONS, Drawing
from shoal.cli.parsing import parse, parse_extra, parse_type, parse_zones
from shoal.errors import InvalidInput

F = TypeVar("F", bound=Callable[..., Any])


TOTAL = click.option(
    "--total", is_flag=True, help="State how far another fit would be, and not the noise of an answer alone."
)


def _algorithms(ctx: click.Context, _: click.Parameter, begun: str) -> list[str]:
    """Complete the name of an algorithm in a shell."""
    from shoal.algorithms import REGISTRY, SYNOPSES

    known = SYNOPSES if ctx.params.get("synopsis") else REGISTRY
    return [name for name in known if name.startswith(begun)]


def _words(*words: str) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Complete one of a few words in a shell; others may be written too."""
    return lambda _ctx, _param, begun: [word for word in words if word.startswith(begun)]


_READING = [
    click.option(
        "--columns",
        help="Columns to cluster, with commas between; by default those that --bounds and --levels name, "
        "or all of a file with types. A CSV has none: name its columns.",
    ),
    click.option(
        "--header/--no-header",
        default=None,
        help="Whether a CSV begins with a line of names. If not, --columns names the cells of a line in "
        "order, with nothing between two commas for one to leave out.",
    ),
    click.option(
        "--multiline",
        is_flag=True,
        default=None,
        help="Quoted cells of a CSV may hold line ends: then a quote that does not end takes rows along.",
    ),
]

_OPTIONS = [
    click.argument("table", type=str, nargs=-1, required=True),
    *_READING,
    click.option(
        "--types",
        multiple=True,
        help="What a column of text holds, if not numbers: name=boolean or name=time.",
    ),
    click.option(
        "--k",
        type=str,
        shell_complete=_words("auto"),
        help="How many groups; or auto, with --algorithm auto; or of each zone: clinic=1,rest=5.",
    ),
    click.option(
        "--zones",
        help="Regions with epsilons of their own: a GeoJSON file of polygons with the properties name and "
        "epsilon; or levels of a column, column=level:epsilon,level:epsilon. --epsilon is then that of the "
        "rest.",
    ),
    click.option(
        "--zone-columns",
        help="The two columns that --zones lie over: x,y. Longitude and latitude by their names, if not "
        "given.",
    ),
    click.option("--epsilon", type=str, help="Privacy loss allowed: 0.1 is strict, 1 usual, above 3 weak."),
    click.option("--delta", type=str, help="Above 0 for (epsilon, delta); 0 by default."),
    click.option(
        "--bounds",
        multiple=True,
        help="Public bounds: name=low:high once per column (or low..high, as for times: "
        "day=2024-01-01..2025-01-01; or name=boolean), low:high for all, or latlon. The columns that are "
        "named are clustered. Estimated privately if not given.",
    ),
    click.option("--algorithm", shell_complete=_algorithms, help="See `shoal algorithms`; auto by default."),
    click.option(
        "--synopsis",
        is_flag=True,
        default=None,
        help="Release noisy counts themselves, without --k: over a grid (--algorithm grid, the default), "
        "a finer one (masked-grid) or a tree of boxes (tree). `shoal ask` then finds groups, counts and "
        "synthetic rows in them for free. Of --algorithm coreset, release the weighted points.",
    ),
    click.option(
        "--set",
        "extra",
        multiple=True,
        help="Any other parameter of the algorithm's class: name=value, such as resolution=20.",
    ),
    click.option("--unit", help="Column that names the person whose rows are protected together."),
    click.option("--max-rows", type=int, help="The most rows of one person that are kept."),
    click.option("--levels", multiple=True, help="Categories of a text column: name=a,b,c."),
    click.option(
        "--cyclic",
        multiple=True,
        help="A column that goes round: name=24 for hours; name=day, week or year, or day,week, for times.",
    ),
    click.option("--column-weights", multiple=True, help="How many times a column counts: name=2."),
    click.option("--weight", help="Column of row weights."),
    click.option("--max-weight", type=float, help="Public maximum of the weights."),
    click.option("--public-rows", type=int, help="A public row count that you vouch for."),
    click.option(
        "--neighbours",
        type=click.Choice(["add-remove", "replace"]),
        help="What is hidden: that a row is there (add-remove, the default), or what it says (replace).",
    ),
    click.option(
        "--scaling",
        type=click.Choice(["bounds", "none", "earth"]),
        help="What distance is measured in: bounds (the default), the table's own units, or the ground.",
    ),
    click.option(
        "--missing",
        multiple=True,
        shell_complete=_words("centre", "drop", "indicator"),
        help="Where missing cells go: centre, drop or indicator; or name=indicator once per column.",
    ),
    click.option(
        "--count-clipped",
        is_flag=True,
        default=None,
        help="Count, for a fiftieth of the budget, the missing and clipped cells of each column.",
    ),
    click.option(
        "--noise",
        shell_complete=_words("auto", "laplace", "linf", "cylinder", "gaussian"),
        help="Law of the noise, where the algorithm has a choice.",
    ),
    click.option("--max-iter", help="Rounds, or auto, where the algorithm has rounds."),
    click.option(
        "--allow-unproven",
        is_flag=True,
        default=None,
        help="With an algorithm whose privacy is claimed only: that you know there is no guarantee.",
    ),
    *DRAWING_OPTIONS,
    click.option("--config", type=click.Path(path_type=Path), help="A TOML file with any of these."),
]

# Names in the config file and on the command line, and the estimator's parameter for each.
_PARAMETERS = {
    "k": "n_clusters",
    "epsilon": "epsilon",
    "delta": "delta",
    "bounds": "bounds",
    "unit": "unit",
    "max_rows": "max_rows",
    "levels": "levels",
    "cyclic": "cyclic",
    "column_weights": "column_weights",
    "max_weight": "max_weight",
    "zones": "zones",
    "public_rows": "n_rows",
    "neighbours": "neighbours",
    "scaling": "scaling",
    "missing": "missing",
    "count_clipped": "count_clipped",
    "noise": "noise",
    "max_iter": "max_iter",
    "allow_unproven": "allow_unproven",
}
_OTHERS = (
    *("columns", "header", "multiline", "types", "algorithm", "weight", "synopsis", "set", "zone_columns"),
    *DRAWING_NAMES,
)


def fit_options(command: F) -> F:
    """Add the shared options to a command."""
    return _with(_OPTIONS, command)


def reading_options(command: F) -> F:
    """Add the options that say how a table is laid out to a command."""
    return _with(_READING, command)


def _with(options: Sequence[Callable[[F], F]], command: F) -> F:
    for option in reversed(options):
        command = option(command)
    return command


@dataclass(frozen=True)
class Reading:
    """How a table is laid out, as said on the command line."""

    columns: tuple[str | None, ...] | None = None
    header: bool = True
    multiline: bool = False
    types: dict[str, Any] = field(default_factory=dict)
    engine: str | None = None

    @classmethod
    def of(cls, settings: dict[str, Any]) -> Reading:
        """Take what says how to read out of all settings."""
        header = bool(settings.get("header", True))
        columns = settings.get("columns")
        if isinstance(columns, str):
            columns = [name.strip() for name in columns.split(",")]
        if columns is not None:
            # Without a header an empty name stands for a cell that is not read.
            columns = [name for name in columns if name] if header else [name or None for name in columns]
        types = settings.get("types", {})
        if not isinstance(types, dict):
            types = dict(parse_type(entry) for entry in types)
        return cls(
            None if columns is None else tuple(columns), header, bool(settings.get("multiline")), types
        )

    def open(self, paths: tuple[str, ...]) -> Any:
        """Open files, or the standard input, which is a CSV."""
        from shoal.sources import FileTable

        piped = "-" in paths
        if piped and len(paths) > 1:
            raise InvalidInput("- is the standard input: it cannot be read together with files")
        if self.engine is not None:
            return self._by_workers(paths)
        return FileTable(
            _standard_input() if piped else paths,
            self.columns,
            types=self.types,
            format="csv" if piped else None,
            header=self.header,
            multiline=self.multiline,
        )

    def _by_workers(self, paths: tuple[str, ...]) -> Any:
        from shoal.sources.engines.files import EngineFiles

        if "-" in paths:
            raise InvalidInput("- is the standard input: workers of an engine cannot read it; give files")
        how: dict[str, Any] = {"types": self.types, "header": self.header, "multiline": self.multiline}
        return EngineFiles(paths, self.columns, engine=self.engine, **how)


@cache
def _standard_input() -> Path:
    """Copy the standard input once, however often it is opened."""
    from shoal.sources.streams import standard_input

    return standard_input()


@dataclass(frozen=True)
class Job:
    """A fit as asked for on the command line."""

    table: tuple[str, ...]
    reading: Reading
    weight: str | None
    algorithm: str
    parameters: dict[str, Any]
    synopsis: bool = False
    drawing: Drawing = field(default_factory=Drawing)

    def with_budget(self) -> Job:
        """Open the data set of the ledger that the fit draws on, if any; it says who is protected."""
        return replace(self, parameters={**self.drawing.parameters(), **self.parameters})

    def open(self) -> Any:
        """Open the table, with its parts given out; no row is read."""
        return self.estimator()._open(self.reading.open(self.table), self.weight)

    def estimator(self) -> Any:
        """Build the estimator, or say which parameter its algorithm does not have."""
        import shoal
        from shoal.algorithms import REGISTRY, SYNOPSES, lookup

        if self.synopsis and self.algorithm not in SYNOPSES:
            wanted = ", ".join(SYNOPSES)
            raise InvalidInput(f"--synopsis is for --algorithm {wanted}; {self.algorithm!r} releases none")
        info = lookup(self.algorithm, SYNOPSES if self.synopsis else REGISTRY)
        kind = getattr(shoal, info.estimator)
        known = kind._parameter_names()
        for name in self.parameters:
            if name not in known:
                raise InvalidInput(f"algorithm {self.algorithm!r} has no parameter {name!r}")
        return kind(**{**self.parameters, **dict(info.parameters)})


def read_job(*, table: tuple[str, ...], config: Path | None, **given: Any) -> Job:
    """Join the config file and the command line; the command line wins."""
    settings = _read_config(config) if config is not None else {}
    settings.update({name: value for name, value in given.items() if value not in (None, ())})
    synopsis = bool(settings.get("synopsis"))
    algorithm = settings.get("algorithm", "grid" if synopsis else "auto")
    for needed in ("epsilon",) if synopsis and algorithm != "coreset" else ("k", "epsilon"):
        if needed not in settings:
            raise InvalidInput(f"--{needed} is missing; give it here or in a config file")
    if (columns := settings.get("zone_columns")) is not None and "zones" not in settings:
        raise InvalidInput(f"--zone-columns {columns} goes with --zones: which are they?")
    parameters = {_PARAMETERS[n]: parse(n, v) for n, v in settings.items() if n in _PARAMETERS}
    if "zones" in settings:
        parameters["zones"] = parse_zones(settings["zones"], columns)
    parameters |= parse_extra(settings.get("set", {}), settings.get("extra", ()))
    return Job(
        table=table,
        reading=Reading.of(settings),
        weight=settings.get("weight"),
        algorithm=algorithm,
        parameters=parameters,
        synopsis=synopsis,
        drawing=Drawing.of(settings),
    )


def _read_config(path: Path) -> dict[str, Any]:
    try:
        settings = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidInput(f"the config file {path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"the config file {path} is not TOML: {error}") from None
    settings = {name.replace("-", "_"): value for name, value in settings.items()}
    unknown = [name for name in settings if name not in _PARAMETERS and name not in _OTHERS]
    if unknown:
        wanted = ", ".join([*_PARAMETERS, *_OTHERS])
        raise InvalidInput(f"the config file {path} has unknown entries {unknown}; it may have {wanted}")
    return settings
