"""What the studio's pages do, for programs: JSON, with OpenAPI and bearer tokens."""

from shoal.studio.api.app import PREFIX, create_api

__all__ = ["PREFIX", "create_api"]
