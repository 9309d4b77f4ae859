"""The README as a package index shows it: links and pictures of the repository lead to its public home."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

RELATIVE = r"(?!https?:|mailto:|#)([^)\s\"]+)"


def for_an_index(text: str, home: str, version: str) -> str:
    """Return the text with links to the files of this version, or of `main` while it is not released."""
    at = "main" if "dev" in version else f"v{version}"
    text = re.sub(rf"(\]\(){RELATIVE}", rf"\g<1>{home}/blob/{at}/\g<2>", text)
    return re.sub(rf'(src="){RELATIVE}', rf"\g<1>{home}/raw/{at}/\g<2>", text)


class Readme(MetadataHookInterface):
    """Puts the README into the package's metadata."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add it."""
        root = Path(self.root)
        code = (root / "src" / "shoal" / "__init__.py").read_text(encoding="utf-8")
        version = re.findall(r'^__version__ = "(.+)"$', code, re.MULTILINE)[0]
        text = (root / "README.md").read_text(encoding="utf-8")
        text = for_an_index(text, metadata["urls"]["Homepage"], version)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
