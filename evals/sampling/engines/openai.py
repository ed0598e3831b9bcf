"""Any server that speaks OpenAI's HTTP interface: chat prompts to /chat/completions, plain ones to /completions.

The server has the model and its chat template. Each request carries its seed. It is unknown here whether the server
uses the seed, and whether its samples depend on other requests; `describe()` says so.

The openai SDK sends a request, tenacity retries it. The key comes from an environment variable and goes into one
header. Redirections are refused, because they would send the key to another host. The key is removed from a server's
messages before they are shown.
"""

from __future__ import annotations

import json
import os
import random
import time
import urllib.parse
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any

from evals.sampling.engines.base import Completion, Decoding, EngineError, Request

if TYPE_CHECKING:
    from tenacity import RetryCallState

KEY_ENV = "OPENAI_API_KEY"
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 60.0
CHUNK_ROUNDS = 64  # requests per connection in a chunk; all connections wait for a chunk's last request
_AGAIN = {408, 409, 425, 429}  # and every 5xx


class OpenAIEngine:
    """Samples from a server.

    Args:
        model: the model's name on the server.
        url: the server's base address, as in "http://127.0.0.1:8000/v1".
        key_env: the environment variable that holds the key; None is OPENAI_API_KEY, if it is set.
        concurrency: the maximum number of simultaneous requests.
        attempts: how often a request is sent before it counts as failed.
        timeout_s: seconds that the server may be silent.
        sleep: waits before another attempt; `time.sleep`, or a test's function.
    Raises:
        ValueError: an address that is not http(s) or has a password in it, a variable that is not set or holds what
            no header can, a number below 1.
    """

    tokenizer = None
    context = None

    def __init__(
        self,
        model: str,
        *,
        url: str | None = None,
        key_env: str | None = None,
        concurrency: int = 16,
        attempts: int = 6,
        timeout_s: float = 600.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        for name, value in (("concurrency", concurrency), ("attempts", attempts)):
            if value < 1:
                raise ValueError(f"{name}={value}, expected >= 1")
        if not timeout_s > 0:
            raise ValueError(f"timeout_s={timeout_s}, expected a number > 0")
        self.model = model
        self.url = _address(url)
        self.concurrency, self.attempts, self.timeout_s = concurrency, attempts, timeout_s
        self._key = _key(key_env)
        self._sleep = sleep
        from openai import DefaultHttpxClient, OpenAI

        self._client = OpenAI(
            api_key=self._key or "none",  # the SDK wants one
            base_url=self.url,
            timeout=timeout_s,
            max_retries=0,  # tenacity repeats: with this request's own jitter
            http_client=DefaultHttpxClient(follow_redirects=False),
        )

    @property
    def chunk_rows(self) -> int:
        return self.concurrency * CHUNK_ROUNDS

    def describe(self) -> dict[str, Any]:
        return {
            "name": "openai",
            "model": self.model,
            "url": self.url,
            "seeded": "each request carries its seed; whether the server heeds it is not known",
            "batch_independent": False,
        }

    def generate(self, requests: Sequence[Request], decoding: Decoding) -> Iterator[list[Completion]]:
        """One completion for each request, in groups, as they arrive.

        Raises:
            ValueError: a request has a prefix of its response: a server takes text, not tokens.
            EngineError: a request failed for good; it names problem and sample. Finished completions are yielded first.
        """
        if any(request.forced for request in requests):
            raise ValueError("engine openai cannot continue the prefix of a response; expected a local engine")
        left = iter(requests)
        with ThreadPoolExecutor(self.concurrency, thread_name_prefix="openai") as threads:
            under_way: set[Future[Completion]] = set()
            failure: BaseException | None = None
            try:
                while True:
                    while failure is None and len(under_way) < self.concurrency and (request := next(left, None)):
                        under_way.add(threads.submit(self._complete, request, decoding))
                    if not under_way:
                        break
                    done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                    failed = [error for future in done if (error := future.exception())]
                    failure = failure or next(iter(failed), None)
                    if came := [future.result() for future in done if not future.exception()]:
                        yield came
            finally:
                for future in under_way:
                    future.cancel()
            if failure is not None:
                raise failure

    def _complete(self, request: Request, decoding: Decoding) -> Completion:
        """Send a request until it is answered.

        Raises:
            EngineError: the server refused it, or it failed `attempts` times.
        """
        from tenacity import Retrying, retry_if_exception, stop_after_attempt

        retrying = Retrying(
            sleep=self._sleep,
            stop=stop_after_attempt(self.attempts),
            wait=_Pauses(request.seed),
            retry=retry_if_exception(lambda error: isinstance(error, _FailedError) and error.again),
            reraise=True,
        )
        try:
            return retrying(lambda: _read(request, self._post(request, decoding)))
        except _FailedError as failed:
            where = f"problem {request.key[0]!r}, sample {request.key[1]}, of {self.model} at {self.url}"
            attempts = f" ({self.attempts} attempts)" if failed.again else ""
            raise EngineError(f"{where}: {self._hide(failed.why)}{attempts}") from None

    def _post(self, request: Request, decoding: Decoding) -> Any:
        """The server's answer as JSON.

        Raises:
            _FailedError: there is none.
        """
        from openai import APIConnectionError, APIStatusError, Omit

        settings: dict[str, Any] = {
            "model": self.model,
            "temperature": decoding.temperature,
            "top_p": decoding.top_p,
            "max_tokens": decoding.max_tokens,
            "seed": request.seed,
            "n": 1,
            "stream": False,
        }
        if self._key is None:
            settings["extra_headers"] = {"Authorization": Omit()}
        raw = self._client.with_raw_response
        try:
            if request.messages is None:
                answer = raw.completions.create(prompt=request.prompt_text, **settings)
            else:
                messages: Any = [dict(message) for message in request.messages]
                answer = raw.chat.completions.create(messages=messages, **settings)
        except APIStatusError as error:
            code, text = error.status_code, error.response.text[:500].strip()
            again = code in _AGAIN or code >= 500
            raise _FailedError(f"HTTP {code}: {text or error.message}", again, _after(error.response.headers)) from None
        except APIConnectionError as error:  # refused, dropped, timed out, cut short
            why = f"{type(error).__name__}: {error.__cause__ or error}"
            raise _FailedError(f"no answer ({why})", True) from None
        try:
            return json.loads(answer.text)
        except ValueError:
            raise _FailedError(f"the answer is not JSON: {answer.text[:200]!r}", True) from None

    def _hide(self, text: str) -> str:
        return text if self._key is None else text.replace(self._key, "[key]")


class _Pauses:
    """tenacity's `wait`: `pause` with a request's own jitter and the time that the server asked for."""

    def __init__(self, seed: int) -> None:
        self.jitter = random.Random(seed)

    def __call__(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome is not None else None
        return pause(state.attempt_number, getattr(error, "after_s", None), self.jitter)


def pause(attempt: int, after_s: float | None, jitter: random.Random) -> float:
    """Seconds to wait after that many failed attempts: what the server asked for, or twice as long each time; at most
    `LONGEST_WAIT_S`, and less by a random part of up to half, so that requests which failed together spread out."""
    wait_s = FIRST_WAIT_S * 2 ** min(attempt - 1, 20) if after_s is None else 2 * after_s
    return min(wait_s, LONGEST_WAIT_S) * (1 - jitter.random() / 2)


class _FailedError(Exception):
    """One attempt failed. `again`: another may succeed; `after_s`: the server said when."""

    def __init__(self, why: str, again: bool, after_s: float | None = None) -> None:
        super().__init__(why)
        self.why, self.again, self.after_s = why, again, after_s


def _read(request: Request, answer: Any) -> Completion:
    """The completion in the server's answer.

    Raises:
        _FailedError: it is not of the documented form. Nothing is made up: a missing text or length is an error.
    """
    try:
        choice = answer["choices"][0]
        text = choice["text"] if request.messages is None else choice["message"].get("content")
        reason, tokens = choice["finish_reason"], answer["usage"]["completion_tokens"]
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        shown = json.dumps(answer)[:200]
        raise _FailedError(f"the answer lacks {error}: {shown}", True) from None
    if reason not in ("stop", "length"):
        raise _FailedError(f"finish_reason {reason!r}; expected 'stop' or 'length'", False)
    if text is None and reason == "length":
        text = ""  # a server with separate reasoning was cut off inside it
    if not isinstance(text, str) or isinstance(tokens, bool) or not isinstance(tokens, int):
        raise _FailedError(f"text {text!r} and completion_tokens {tokens!r}; expected a text and a number", False)
    return Completion(request.key, text, tokens, reason)


def _after(headers: Any) -> float | None:
    """Seconds in a Retry-After header; None where there is none, or a date."""
    stated = headers.get("Retry-After") if headers else None
    return float(stated) if stated and stated.isdigit() else None


def _address(url: str | None) -> str:
    if url is None:
        raise ValueError("url: missing; expected the server's base address, as in engine.url=http://127.0.0.1:8000/v1")
    parts = urllib.parse.urlsplit(url)
    if parts.username or parts.password or parts.query or parts.fragment:  # may be secrets: not shown
        raise ValueError(
            "url: expected no user, password, query or fragment in it; a key goes into a variable (key_env)"
        )
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"url={url!r}, expected http://HOST[:PORT]/v1 or https://...")
    return url.rstrip("/")


def _key(variable: str | None) -> str | None:
    key = os.environ.get(variable or KEY_ENV, "").strip()
    if not key:
        if variable is not None:
            raise ValueError(f"key_env={variable!r}: no such environment variable is set, expected one with the key")
        return None
    if not (key.isascii() and key.isprintable()):
        raise ValueError(f"the key in {variable or KEY_ENV} holds characters that no header can; check the variable")
    return key
