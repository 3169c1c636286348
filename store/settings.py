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
        description="directory of the database, the key, the sockets, imported repositories "
        "and reports",
    )


DAY = 86_400


class UsageSettings(BaseModel):
    """The same about the coding assistant's usage, and the reports of it."""

    keep_usage: float = Field(
        366 * DAY,
        ge=30 * DAY,
        description="seconds for which usage of the assistant is kept and taken in; what is "
        "reported stays in the reports",
    )
    keep_reports: float = Field(
        366 * DAY, ge=DAY, description="seconds for which reports of usage are kept"
    )
    report_link_seconds: int = Field(
        3600,
        ge=60,
        le=7 * DAY,
        description="seconds for which a link to a report can be followed",
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
