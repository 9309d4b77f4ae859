"""What the studio's pages do, for programs: JSON, with OpenAPI and bearer tokens."""

from shoal.studio.api.app import create_api
from shoal.studio.api.routes import PREFIX

__all__ = ["PREFIX", "create_api"]
