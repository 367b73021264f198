"""Reads rulebooks: TOML text in, a checked Rulebook out, or an error that names file and key."""

import hashlib
import tomllib
from collections.abc import Iterable
from datetime import date
from functools import lru_cache
from importlib.resources import files
from typing import Any

import msgspec

from ledger.money import DIGITS, MAX_MINOR, minor
from ledger.rulebooks.checks import contradictions
from ledger.rulebooks.schema import Rulebook
from ledger.rulebooks.values import Rules


class RulebookError(Exception):
    """A rulebook that cannot be used, with the file and the key that are at fault."""

    def __init__(self, file: str, key: str, message: str) -> None:
        super().__init__(f"{file}: {key}: {message}" if key else f"{file}: {message}")
        self.file = file
        self.key = key
        self.message = message


def sha256_of(text: str) -> str:
    """Return the hash that the adopted text is known by, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


@lru_cache(maxsize=256)
def parse(text: str, file: str) -> Rulebook:
    """Read and check one version of a rulebook; the same text is read once.

    Raises RulebookError when it is no TOML, incomplete, has unknown keys or contradicts itself.
    """
    try:
        raw = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise RulebookError(file, "", f"is not TOML: {error}") from error
    in_minor_units = _in_minor_units(raw, raw.get("amounts_in"), "", file)
    try:
        rulebook = msgspec.convert(in_minor_units, Rulebook)
    except msgspec.ValidationError as error:
        key, message = _key_and_message(str(error))
        raise RulebookError(file, _named(key, in_minor_units), message) from error
    for key, message in contradictions(rulebook):
        raise RulebookError(file, key, message)
    return rulebook


def _amount_keys(kind: type[Rules]) -> frozenset[str]:
    own = {
        field.encode_name for field in msgspec.structs.fields(kind) if field.name.endswith("_minor")
    }
    return frozenset(own).union(*(_amount_keys(part) for part in kind.__subclasses__()))


_AMOUNT_KEYS = _amount_keys(Rules)


def _in_minor_units(value: Any, currency: Any, key: str, file: str) -> Any:
    """Copy what TOML gave, with every amount as minor units."""
    if isinstance(value, list):
        return [
            _in_minor_units(item, currency, f"{key}[{number}]", file)
            for number, item in enumerate(value)
        ]
    if not isinstance(value, dict):
        return value
    copy = {}
    for name, item in value.items():
        path = f"{key}.{name}" if key else name
        if name in _AMOUNT_KEYS and item != "none":
            copy[name] = _amount(item, currency, path, file)
        else:
            copy[name] = _in_minor_units(item, currency, path, file)
    return copy


def _amount(value: Any, currency: Any, key: str, file: str) -> int:
    if not isinstance(value, str):
        raise RulebookError(file, key, f"an amount is written in quotes, not {value!r}")
    if not isinstance(currency, str) or currency not in DIGITS:
        raise RulebookError(file, "amounts_in", f"{currency!r} is no currency, but {key} an amount")
    try:
        amount = minor(value, currency)
    except ValueError as error:
        raise RulebookError(file, key, str(error)) from error
    if not 0 <= amount <= MAX_MINOR:
        raise RulebookError(file, key, f"{value!r} is negative or too much")
    return amount


def _key_and_message(error: str) -> tuple[str, str]:
    """Take msgspec's "message - at `$.path`" apart; a field that it names belongs to the key."""
    message, _, path = error.partition(" - at ")
    within = path.removeprefix("`key` in ")
    key = within.strip("`").removeprefix("$").removeprefix(".")
    name = ""
    if within != path:
        name = message.split("'")[1]
    elif "field `" in message:
        name = message.split("`")[1]
    return ".".join(part for part in (key, name) if part), message


def _named(key: str, raw: dict[str, Any]) -> str:
    """Put the name in for the "[...]" with which msgspec points into a table of names."""
    table, unnamed, rest = key.partition("[...]")
    if not unnamed:
        return key
    path = table.split(".")
    for name in _at(raw, path):
        try:
            msgspec.convert(_with_one(raw, path, name), Rulebook)
        except msgspec.ValidationError:
            return f"{table}.{name}{rest}"
    return key


def _at(raw: dict[str, Any], path: list[str]) -> dict[str, Any]:
    for part in path:
        raw = raw[part]
    return raw


def _with_one(raw: dict[str, Any], path: list[str], name: str) -> dict[str, Any]:
    """Copy the rulebook with one entry of a table and without the others."""
    if not path:
        return {name: raw[name]}
    first, *rest = path
    return {**raw, first: _with_one(raw[first], rest, name)}


@lru_cache(maxsize=1)
def shipped_texts() -> tuple[tuple[str, str], ...]:
    """Return file name and text of every rulebook that comes with the software."""
    found = [entry for entry in files("ledger.rulebooks").iterdir() if entry.name.endswith(".toml")]
    return tuple(sorted((entry.name, entry.read_text(encoding="utf-8")) for entry in found))


def read(texts: Iterable[tuple[str, str]]) -> tuple[Rulebook, ...]:
    """Read rulebooks from their files' names and texts; they come back by name and date.

    Raises RulebookError for a text that is wrong, or is not what its file's name says:
    ``entraction-2013-01-01.toml``.
    """
    rulebooks = []
    for file, text in texts:
        rulebook = parse(text, file)
        if file != _file_name(rulebook.name, rulebook.valid_from):
            raise RulebookError(file, "name", f"this is the text of {rulebook.ref}")
        rulebooks.append(rulebook)
    return tuple(sorted(rulebooks, key=lambda one: (one.name, one.valid_from)))


@lru_cache(maxsize=1)
def shipped() -> tuple[Rulebook, ...]:
    """Read every rulebook that comes with the software, by name and date."""
    return read(shipped_texts())


def text_of(name: str, valid_from: date) -> str:
    """Return the shipped text of one version; raises KeyError when none is shipped."""
    return dict(shipped_texts())[_file_name(name, valid_from)]


def _file_name(name: str, valid_from: date) -> str:
    return f"{name}-{valid_from.isoformat()}.toml"
