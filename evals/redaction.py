"""Hide credentials: every text of a report, record, log, tag or message passes through `redact`.

A text is cut by `redacted_start` alone, which hides first: a cut inside a credential would leave a part of it.
"""

from __future__ import annotations

import base64
import html
import os
import re
from functools import lru_cache
from typing import Any

from evals.environment import variables

HIDDEN = "[hidden]"
_NAME = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL", re.IGNORECASE)  # environment variables whose values are hidden
_SHORTEST = 6  # a shorter value (a "1", a "true") is no credential, and hiding it would garble text
_USER = re.compile(r"(?<![a-z0-9+.-])(?P<scheme>[a-z0-9+.-]+://)[^/\s]+@", re.IGNORECASE)
_QUERY = re.compile(
    r"(?P<name>[?&](?:[\w-]*(?:key|token|secret|passw(?:or)?d|signature|sig))=)[^&\s'\"]+", re.IGNORECASE
)
_BEARER = re.compile(r"(?P<scheme>\b(?:Bearer|Basic)\s+)[A-Za-z0-9._~+/=-]{8,}")
_KEYS = re.compile(r"\b(?:sk-[A-Za-z0-9_-]{16,}|hf_[A-Za-z0-9]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|AKIA[0-9A-Z]{16})\b")


def redact(text: str) -> str:
    """The text without credentials: those in addresses (user:password@, ?token=), in headers, in the form of well-known
    keys, and the values of environment variables whose names say key, token, secret, password or credential."""
    return _redact(text, _secrets())


def redacted_start(text: str, limit: int, *secrets: str) -> str:
    """The first characters of `redact(text)`, with ... if it is longer.

    Args:
        limit: characters. secrets: credentials beside those of the environment.
    """
    shown = _redact(text, sorted({*secrets, *_secrets()}, key=len, reverse=True))
    return shown if len(shown) <= limit else f"{shown[:limit]}..."


@lru_cache(maxsize=64)
def _forms(secret: str) -> re.Pattern[str]:
    """A secret as it is, in base64, and with any of its signs as JSON, Python, an address or HTML write them."""
    plain = "".join(map(_sign, secret))
    return re.compile(f"{plain}|{re.escape(base64.b64encode(secret.encode(errors='replace')).decode())}")


def _sign(sign: str) -> str:
    """The forms of one sign: after backslashes (JSON inside JSON has several), as %2F, &#47; or an entity's name."""
    if sign.isascii() and sign.isalnum():
        return sign
    number, byte = ord(sign), "".join(f"%(?:25)?{part:02x}" for part in sign.encode(errors="replace"))
    names = {html.escape(sign), f"&#{number};", f"&#0*{number};", f"&#x0*{number:x};"} - {sign}
    spellings = "|".join((re.escape(sign), f"u{number:04x}", byte, *sorted(names), *(["[+]"] if sign == " " else [])))
    return f"(?:\\\\+|{byte})" if sign == "\\" else f"\\\\{{0,8}}(?i:{spellings})"


def _redact(text: str, secrets: list[str]) -> str:
    for value in secrets:
        text = _forms(value).sub(HIDDEN, text)
    text = _USER.sub(rf"\g<scheme>{HIDDEN}@", text)
    text = _QUERY.sub(rf"\g<name>{HIDDEN}", text)
    text = _BEARER.sub(rf"\g<scheme>{HIDDEN}", text)
    return _KEYS.sub(HIDDEN, text)


def redact_all(value: object) -> Any:
    """`redact` on every string in a JSON value. Keys are ours, and the origins of values."""
    return _redact_all(value, _secrets())


def _redact_all(value: object, secrets: list[str]) -> object:
    if isinstance(value, str):
        return _redact(value, secrets)
    if isinstance(value, dict):
        return {key: item if key == "origin" else _redact_all(item, secrets) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_redact_all(item, secrets) for item in value]
    return value


def _secrets() -> list[str]:
    """Longest first: one may hold another."""
    secrets = {value for name, value in variables().items() if _NAME.search(name) and len(value) >= _SHORTEST}
    return sorted(
        (value for value in secrets if not os.path.exists(value)), key=len, reverse=True
    )  # a path of a key file
