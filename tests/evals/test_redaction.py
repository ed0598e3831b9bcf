"""Credentials that are planted in texts do not come out. Other texts stay as they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.redaction import HIDDEN, redact, redact_all

PASSWORDS = st.text("abcdefgXYZ0123456789-_.~!$&()*+,;=%'\"@", min_size=1, max_size=20)


@given(PASSWORDS, PASSWORDS, st.sampled_from(["http", "https", "postgresql", "mysql+pymysql", "s3"]))
def test_user_and_password_of_an_address(user: str, password: str, scheme: str) -> None:
    shown = redact(f"at {scheme}://{user}:{password}@host.example:5000/path, then more")
    assert shown == f"at {scheme}://{HIDDEN}@host.example:5000/path, then more"


@pytest.mark.parametrize(
    "secret",
    ["sk-abcdefghijklmnop0123", "hf_abcdefghijklmnopqrst", "ghp_" + "a1" * 12, "AKIAABCDEFGHIJKLMNOP"],
)
def test_well_known_keys_are_redacted(secret: str) -> None:
    assert redact(f"key={secret}.") == f"key={HIDDEN}."
    assert secret not in redact(f"Authorization: Bearer {secret}")


def test_keys_in_a_query() -> None:
    assert redact("http://h/x?a=1&api_key=abc&token=d") == f"http://h/x?a=1&api_key={HIDDEN}&token={HIDDEN}"


def test_values_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_TOKEN", "something else")
    monkeypatch.setenv("SHORT_KEY", "1")  # hiding "1" would garble every text, and it is no secret
    assert redact("is something else here? 1") == f"is {HIDDEN} here? 1"
    assert redact_all({"a": ["something else", 1], "something else": None}) == {
        "a": [HIDDEN, 1],
        "something else": None,
    }


@pytest.mark.parametrize(
    "text",
    ["", "a@b.example", "egsw.alpha=0.5", "http://127.0.0.1:5000/#/experiments/1", "sk-learn", "token=3", "x@ y://z"],
)
def test_texts_without_a_secret_are_not_redacted(text: str) -> None:
    assert redact(text) == text


def test_the_time_grows_with_the_length_and_not_with_its_square() -> None:
    for text in ("x" * 1_000_000, "a+" * 500_000, "http://" * 100_000, "?key" * 200_000):  # hours if with its square
        assert redact(text) == text
