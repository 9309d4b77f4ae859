"""`shoal certificate` and `shoal sign`: a release for the file of a data protection officer."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import click

from shoal.reporting.console import command, say, write_json

_FOLDER = click.argument("release", type=click.Path(path_type=Path))


@command()
@_FOLDER
@click.option("--title", help="What the release is called.")
@click.option("--table", help="The name of the table that it was made from.")
@click.option("--purpose", help="What it is for.")
@click.option("--contact", help="Who answers questions.")
@click.option("--date", help="When it was made; today by default.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="HTML file to write.")
def certificate(release: Path, out: Path, as_json: bool, **about: Any) -> None:
    """Write the certificate of a RELEASE as one page that can be read, printed and filed.

    What you say of the title, table, purpose, date and contact is printed as it is; nothing of it is checked.
    """
    from shoal.errors import InvalidInput
    from shoal.release import load
    from shoal.release.folder import MANIFEST, read_file

    if out.exists():
        raise InvalidInput(f"the output file {out} exists; give another name, or move it away first")
    found = load(release)
    fingerprint = hashlib.sha256(read_file(release, MANIFEST)).hexdigest()
    said = {name: text for name, text in about.items() if text is not None}
    try:
        out.write_text(found.certificate.to_html(**said, fingerprint=fingerprint), encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"nothing can be written to {out}: {error.strerror}") from None
    if as_json:
        write_json({"out": str(out), "fingerprint": fingerprint})
    else:
        say(f"written to {out}")


@command()
@_FOLDER
@click.option("--key", type=click.Path(path_type=Path), required=True, help="Your Ed25519 private key, PEM.")
def sign(release: Path, key: Path, as_json: bool) -> None:
    """Sign a RELEASE with your own key, so that readers who know it can tell that it is yours.

    A key is made with: openssl genpkey -algorithm ed25519 -out key.pem. The passphrase of an encrypted one is
    taken from SHOAL_KEY_PASSPHRASE.
    """
    from shoal.release import sign as put

    name = put(release, key, passphrase=os.environ.get("SHOAL_KEY_PASSPHRASE"))
    if as_json:
        write_json({"key": name})
    else:
        click.echo(f"signed by key {name}")
        say("publish this fingerprint, or the public key, where your readers know you")
