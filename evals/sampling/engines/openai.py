"""Any server that speaks OpenAI's HTTP interface: chat prompts to /chat/completions, plain ones to /completions.

The server has the model and its chat template. Each request carries its seed. It is unknown here whether the server
uses the seed, and whether its samples depend on other requests; `describe()` says so.

The openai SDK sends a request, and sends it again after a temporary fault. The key comes from OPENAI_API_KEY
and goes into one header. Redirections are refused, because they would send the key to another host. The key is removed
from a server's messages before they are shown.
"""

from __future__ import annotations

import json
import os
import urllib.parse
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any

from evals.sampling.engines.base import Completion, Decoding, EngineError, Request

KEY_ENV = "OPENAI_API_KEY"
ATTEMPTS = 8  # a request is sent so often before it counts as failed
TIMEOUT_S = 600.0  # seconds that the server may be silent
CONTINUE = {"continue_final_message": True, "add_generation_prompt": False}
CHUNK_ROUNDS = 64  # requests per connection in a chunk; all connections wait for a chunk's last request


class OpenAIEngine:
    """Samples from a server.

    Args:
        model: the model's name on the server.
        url: the server's base address, as in "http://127.0.0.1:8000/v1".
        concurrency: the maximum number of simultaneous requests.
    Raises:
        ValueError: an address that is not http(s) or has a password in it, a key that no header can hold, a number
            below 1.
    """

    tokenizer = None
    context = None

    def __init__(self, model: str, *, url: str | None = None, concurrency: int = 16) -> None:
        if concurrency < 1:
            raise ValueError(f"concurrency={concurrency}, expected >= 1")
        self.model, self.url, self.concurrency = model, _address(url), concurrency
        self._key = _key()
        from openai import DefaultHttpxClient, OpenAI

        self._client = OpenAI(
            api_key=self._key or "none",  # the SDK wants one
            base_url=self.url,
            timeout=TIMEOUT_S,
            max_retries=ATTEMPTS - 1,
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
            EngineError: the server refused it, or it failed `ATTEMPTS` times.
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
                if messages[-1]["role"] == "assistant":  # a prefix of the response: vLLM continues it if told, as
                    settings["extra_body"] = CONTINUE  # llama.cpp's server does by itself
                answer = raw.chat.completions.create(messages=messages, **settings)
            return _read(request, answer.text)
        except APIStatusError as error:
            why = f"HTTP {error.status_code}: {error.response.text[:500].strip() or error.message}"
        except APIConnectionError as error:  # refused, dropped, timed out, cut short
            why = f"no answer ({type(error).__name__}: {error.__cause__ or error})"
        except ValueError as error:
            why = str(error)
        shown = why if self._key is None else why.replace(self._key, "[key]")
        raise EngineError(
            f"problem {request.key[0]!r}, sample {request.key[1]}, of {self.model} at {self.url}: {shown}"
        )


def _read(request: Request, text: str) -> Completion:
    """The completion in the server's answer.

    Raises:
        ValueError: it is not of the documented form. Nothing is made up: a missing text or length is an error.
    """
    try:
        answer = json.loads(text)
        choice = answer["choices"][0]
        said = choice["text"] if request.messages is None else choice["message"].get("content")
        reason, tokens = choice["finish_reason"], answer["usage"]["completion_tokens"]
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ValueError(f"the answer lacks {error}: {text[:200]}") from None
    except ValueError:
        raise ValueError(f"the answer is not JSON: {text[:200]!r}") from None
    if reason not in ("stop", "length"):
        raise ValueError(f"finish_reason {reason!r}; expected 'stop' or 'length'")
    if said is None and reason == "length":
        said = ""  # a server with separate reasoning was cut off inside it
    if not isinstance(said, str) or isinstance(tokens, bool) or not isinstance(tokens, int):
        raise ValueError(f"text {said!r} and completion_tokens {tokens!r}; expected a text and a number")
    return Completion(request.key, said, tokens, reason)


def _address(url: str | None) -> str:
    if url is None:
        raise ValueError("url: missing; expected the server's base address, as in engine.url=http://127.0.0.1:8000/v1")
    parts = urllib.parse.urlsplit(url)
    if parts.username or parts.password or parts.query or parts.fragment:  # may be secrets: not shown
        raise ValueError("url: expected no user, password, query or fragment in it; a key goes into OPENAI_API_KEY")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"url={url!r}, expected http://HOST[:PORT]/v1 or https://...")
    return url.rstrip("/")


def _key() -> str | None:
    key = os.environ.get(KEY_ENV, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ValueError(f"the key in {KEY_ENV} holds characters that no header can; check the variable")
    return key or None
