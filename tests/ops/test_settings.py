"""The settings: said clearly when they are wrong, and never with a secret in the message."""

from pathlib import Path

import pytest

from api.settings import EdgeSettings
from ops import settings
from ops.settings import Settings, UnusableSettings, environment, load

KEY = "0123456789abcdef" * 4
DATABASE = "postgresql://app:hush@db/cardroom"


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(f"CARDROOM_{name.upper()}", raising=False)
    monkeypatch.setenv("CARDROOM_DATA_DIR", str(tmp_path / "var"))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"PORT": "eighty"}, "CARDROOM_PORT: "),
        ({"API_PROCESSES": "0"}, "CARDROOM_API_PROCESSES: "),
        ({"NETWORK": "No Slug"}, "CARDROOM_NETWORK: "),
        ({"IDENTITY_KEY": "hush"}, "CARDROOM_IDENTITY_KEY: must be 64 hex digits"),
        ({"DATABASE_URL": "app:hush@db"}, "CARDROOM_DATABASE_URL: is no connection string"),
        ({"OWNER_DATABASE_URL": "://hush"}, "CARDROOM_OWNER_DATABASE_URL: is no connection"),
        ({"DATABASE_URL": DATABASE}, "CARDROOM_IDENTITY_KEY: is needed with a database URL"),
        ({"DATABASE_URL": DATABASE, "IDENTITY_KEY": KEY}, "CARDROOM_JWT_KEY: is needed"),
        ({"OWNER_DATABASE_URL": DATABASE}, "CARDROOM_DATABASE_URL: is missing"),
    ],
)
def test_a_wrong_setting_is_named_without_its_value(
    monkeypatch: pytest.MonkeyPatch, values: dict[str, str], message: str
) -> None:
    for name, value in values.items():
        monkeypatch.setenv(f"CARDROOM_{name}", value)
    with pytest.raises(UnusableSettings) as refused:
        load()
    assert message in str(refused.value)
    assert "hush" not in str(refused.value)


def test_keys_are_made_up_once_and_readable_by_their_owner_only(tmp_path: Path) -> None:
    first, second = load(), load()
    assert first.identity_key is not None
    assert first.identity_key == second.identity_key
    assert first.jwt_key == second.jwt_key
    assert first.jwt_key != first.identity_key
    for name in ("identity.key", "jwt.key"):
        assert (tmp_path / "var" / name).stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in (tmp_path / "var").iterdir()) == ["identity.key", "jwt.key"]


def test_a_damaged_key_is_not_replaced(tmp_path: Path) -> None:
    load()
    (tmp_path / "var" / "identity.key").write_text("short\n")
    with pytest.raises(UnusableSettings, match=r"identity\.key is damaged"):
        load()


def test_a_data_folder_that_cannot_be_made_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CARDROOM_DATA_DIR", str(tmp_path / "file" / "var"))
    with pytest.raises(UnusableSettings, match="CARDROOM_DATA_DIR"):
        load()


def test_children_are_told_what_they_need_and_not_the_owners_password(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CARDROOM_OWNER_DATABASE_URL", "postgresql://owner@db/cardroom")
    monkeypatch.setenv("CARDROOM_DATABASE_URL", DATABASE)
    monkeypatch.setenv("CARDROOM_IDENTITY_KEY", KEY)
    monkeypatch.setenv("CARDROOM_JWT_KEY", KEY)
    told = environment(load(), "postgresql://app@here/cardroom", "api-1@here")
    assert "CARDROOM_OWNER_DATABASE_URL" not in told
    for name in Settings.model_fields:
        monkeypatch.delenv(f"CARDROOM_{name.upper()}", raising=False)
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    child = EdgeSettings()
    assert child.database_url.get_secret_value() == "postgresql://app@here/cardroom"
    assert child.writer_name == "api-1@here"
    assert child.identity_key.get_secret_value() == KEY
    assert settings.Settings().jwt_key is not None


@pytest.mark.parametrize("group", [Settings, EdgeSettings])
def test_every_setting_is_described(group: type[Settings] | type[EdgeSettings]) -> None:
    described = {name for name in Settings.model_fields if Settings.model_fields[name].description}
    missing = [
        name
        for name, field in group.model_fields.items()
        if not field.description and name not in described
    ]
    assert missing == []
