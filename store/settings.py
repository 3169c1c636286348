"""The store's part of the settings."""

from pathlib import Path

from pydantic import BaseModel, Field


class WebSubSettings(BaseModel):
    """What hub and worker have to agree about."""

    websub: bool = Field(
        False,
        description="whether topics can be followed with WebSub, at `/hub/websub`",
    )


class ImportSettings(BaseModel):
    """What hub and worker have to agree about, of imports."""

    imports: bool = Field(
        True,
        description="whether repositories can be imported from elsewhere; otherwise those "
        "operations answer 410",
    )


class DataSettings(BaseModel):
    """Where files are."""

    data_dir: Path = Field(
        Path("tocsin-data"),
        description="directory of the database, the key, the sockets and imported repositories",
    )


class StoreSettings(DataSettings):
    """Where things are kept."""

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
