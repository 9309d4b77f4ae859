"""Where a studio listens and how it is reached: loopback, unless there are users and a name for it."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from shoal.errors import InvalidInput
from shoal.studio.access.sessions import ABSOLUTE, IDLE

# Bytes of one uploaded file: a CSV of ten million rows with a few columns.
MAX_UPLOAD = 2**30
# Bytes of any other request: declarations and zones are text of a few kilobytes.
MAX_BODY = 2**20
_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True)
class Settings:
    """How a studio is served.

    Parameters
    ----------
    host, port
        Where to listen.
    tls_cert, tls_key : Path, optional
        PEM files; both or none.
    proxy : tuple of str
        Addresses of the proxy in front of it. Then, and only then, ``X-Forwarded-For`` is believed, and
        whoever comes from another address is refused.
    origins : tuple of str
        The addresses that people type, as ``https://studio.example.org``. Needed behind a proxy and on a
        wildcard host.
    max_upload : int
        Bytes of an uploaded file.
    idle, absolute : float
        Seconds after which a session ends.
    approval : bool
        Whether a release waits for a second person.
    online_tiles : bool
        Whether pages may ask for map tiles elsewhere, which tells where the data is.
    """

    host: str = "127.0.0.1"
    port: int = 8765
    tls_cert: Path | None = None
    tls_key: Path | None = None
    proxy: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    max_upload: int = MAX_UPLOAD
    idle: float = IDLE
    absolute: float = ABSOLUTE
    approval: bool = False
    online_tiles: bool = False
    _known: frozenset[str] = field(init=False, repr=False, compare=False, default=frozenset())

    def __post_init__(self) -> None:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise InvalidInput("--tls-cert and --tls-key are wanted both, or none of them")
        for address in self.proxy:
            try:
                ipaddress.ip_address(address)
            except ValueError:
                raise InvalidInput(f"--proxy is the address of the proxy, such as 127.0.0.1, not {address!r}")
        known = frozenset(_origin(given) for given in self.origins) or self._own_origins()
        object.__setattr__(self, "_known", known)
        if self.proxy and self.tls:
            raise InvalidInput("--proxy with --tls-cert: let one of the two end TLS, not both")

    def _own_origins(self) -> frozenset[str]:
        if self.proxy or self.host in ("0.0.0.0", "::", ""):
            raise InvalidInput(
                f"{'--proxy' if self.proxy else f'--host {self.host}'} needs --origin, the address that "
                "people type, such as https://studio.example.org: requests by another name are refused"
            )
        scheme = "https" if self.tls else "http"
        names = _LOOPBACK_NAMES if self.loopback else (_bracketed(self.host),)
        return frozenset(_origin(f"{scheme}://{name}:{self.port}") for name in names)

    @property
    def tls(self) -> bool:
        """Whether the studio itself ends TLS."""
        return self.tls_cert is not None

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def secure(self) -> bool:
        """Whether browsers reach it by https alone: cookies are then sent by nothing else."""
        return all(origin.startswith("https://") for origin in self._known)

    @property
    def allowed_origins(self) -> frozenset[str]:
        """Pages of these origins, and no others, may send requests and open sockets."""
        return self._known

    @property
    def allowed_hosts(self) -> frozenset[str]:
        """Values of the Host header that are answered: a name that an attacker made point here is not one."""
        return frozenset(urlsplit(origin).netloc for origin in self._known)

    @property
    def url(self) -> str:
        """What to type."""
        if self.origins:
            return _origin(self.origins[0])
        name = self.host if self.host in _LOOPBACK_NAMES else _bracketed(self.host)
        return _origin(f"{'https' if self.tls else 'http'}://{name}:{self.port}")

    @property
    def cookie(self) -> str:
        """The session's cookie; cookies do not know ports, so two studios on one machine need two names."""
        return "__Host-shoal" if self.secure else f"shoal-{self.port}"

    def check_users(self, users: bool) -> None:
        """Refuse to be reached from elsewhere by whoever likes, or by plain text."""
        if users and not self.secure and (self.proxy or not self.loopback):
            raise InvalidInput(
                f"{self.url} would send passwords as plain text; give --tls-cert and --tls-key, or listen on "
                "127.0.0.1 behind a proxy with TLS (--proxy)"
            )
        if not users and (not self.loopback or self.proxy):
            raise InvalidInput(
                f"a studio without users is for this machine alone, and {self.host} "
                f"{'has a proxy in front' if self.proxy else 'can be reached from others'}; "
                "add people first: shoal studio users add NAME --role curator"
            )
        if self.approval and not users:
            raise InvalidInput(
                "a second person's approval needs users: shoal studio users add NAME --role curator"
            )


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _origin(given: str) -> str:
    """Bring an address into the form in which browsers send it."""
    parts = urlsplit(given)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/") or parts.query:
        raise InvalidInput(f"an origin looks like https://studio.example.org, not {given!r}")
    usual = {"http": 80, "https": 443}[parts.scheme]
    port = f":{parts.port}" if parts.port not in (None, usual) else ""
    return f"{parts.scheme}://{_bracketed(parts.hostname)}{port}"
