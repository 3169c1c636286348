"""The store's part of the settings."""

from pathlib import Path

from pydantic import BaseModel, Field


class WebSubSettings(BaseModel):
    """What hub and worker have to agree about."""

    websub: bool = Field(
        False,
        description="whether topics can be followed with WebSub, at `/hub/websub`",
    )


class StoreSettings(BaseModel):
    """Where things are kept."""

    data_dir: Path = Field(
        Path("tocsin-data"), description="directory of the database, the key and the sockets"
    )
    store: str = Field(
        "sqlite",
        description="the database: `sqlite` (in `data_dir`), `sqlite:///path/to/file`, or "
        "`postgresql://...` with the extra `tocsin[postgres]`",
    )
    key_file: Path | None = Field(
        None,
        description="file with the keys that seal stored secrets, one Fernet key a line, newest "
        "first; by default `secret.key` in `data_dir`, made at the first start",
    )
