"""Docstrings of estimators, put together: what all share is written once, and shown in every class."""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection

# How a class says that it has the common parameters: the last entry of its own.
_COMMON = re.compile(r"^\*\*common\n(?: {4}.*\n)+", re.MULTILINE)
_SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
# numpydoc's order: what attributes come before.
_AFTER_ATTRIBUTES = ("See Also", "Notes", "References", "Examples")


def section(doc: str, name: str) -> str:
    """Return the body of a section of a numpydoc docstring, "" where there is none.

    Examples
    --------
    >>> doc = inspect.cleandoc(section.__doc__)
    >>> section(doc, "Examples").splitlines()[0]
    '>>> doc = inspect.cleandoc(section.__doc__)'
    """
    found = [(m.group(1), m.start(), m.end()) for m in _SECTION.finditer(doc)]
    ends = [start for _, start, _ in found[1:]] + [len(doc)]
    return next(
        (doc[end:stop].strip() for (n, _, end), stop in zip(found, ends, strict=True) if n == name), ""
    )


def entries(body: str) -> dict[str, str]:
    r"""Return the entries of a section by the names they are about.

    Examples
    --------
    >>> entries("a, b : int\n    Two.\nc : str\n    One.")
    {'a, b': 'a, b : int\n    Two.', 'c': 'c : str\n    One.'}
    """
    blocks = re.split(r"\n(?=\S)", body) if body else []
    return {block.split(" :")[0].split("\n")[0]: block for block in blocks}


def with_common(doc: str, parameters: str, own: Collection[str]) -> str:
    """Write the common parameters out where a docstring refers to them.

    Parameters
    ----------
    doc : str
        Of a class, as it stands in the source.
    parameters : str
        The entries of all common parameters.
    own : collection of str
        Parameters that the class tells of by itself.
    """
    common = [entry for name, entry in entries(parameters).items() if name not in own]
    return _COMMON.sub(lambda _: "\n".join(common) + "\n", inspect.cleandoc(doc) + "\n").rstrip("\n")


def with_attributes(doc: str, attributes: str) -> str:
    """Add what every fit leaves to the attributes that a docstring has, in numpydoc's order.

    Parameters
    ----------
    doc : str
        Of a class, put right by `inspect.cleandoc`.
    attributes : str
        Entries; those that the class tells of by itself are passed over.
    """
    own = section(doc, "Attributes")
    told = {name for names in entries(own) for name in names.split(", ")}
    common = [e for names, e in entries(attributes).items() if not told & set(names.split(", "))]
    body = "\n".join(([own] if own else []) + common)
    if own:
        return doc.replace(own, body, 1)
    after = next((m.start() for m in _SECTION.finditer(doc) if m.group(1) in _AFTER_ATTRIBUTES), len(doc))
    return f"{doc[:after].rstrip()}\n\nAttributes\n----------\n{body}\n\n{doc[after:]}".rstrip()
