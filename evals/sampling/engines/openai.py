"""Any server that speaks OpenAI's HTTP interface: chat prompts to /chat/completions, plain ones to /completions.

The server has the model and its chat template. Each request carries its seed. It is unknown here whether the server
uses the seed, and whether its samples depend on other requests. `describe()` says so. Values that OpenAI's interface
does not have (top_k, min_p, repetition_penalty, chat_template_kwargs) are sent under the names that vLLM and SGLang
take. Another server may refuse or ignore them.

The openai SDK sends a request, and sends it again after a temporary fault. The key comes from OPENAI_API_KEY
and goes into one header. Redirections are refused, because they would send the key to another host. The key is removed
from a server's messages before they are shown.

Requests run on an event loop in a daemon thread: when the caller stops, they are cancelled and the process can end.
"""

from __future__ import annotations

import asyncio
import os
import threading
import urllib.parse
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from evals.errors import UsageError
from evals.log import logger
from evals.redaction import redacted_start
from evals.sampling.engines.base import Completion, Decoding, EngineError, Kind, OnStep, Request
from evals.sampling.engines.reply import ReplyError, read_reply

if TYPE_CHECKING:
    import httpx
    from openai import APIStatusError, AsyncOpenAI

KEY_ENV = "OPENAI_API_KEY"
TRY = "x-stainless-retry-count"  # header of the SDK: which try of a request this is, from 0
ATTEMPTS = 8  # a request is sent so often before it counts as failed
TIMEOUT_S = 600.0  # seconds that the server may be silent
WHOLE_S = 3600.0  # seconds until a request is answered, with all its tries
LARGEST = 32 << 20  # bytes of a reply, unpacked
# a prefix of the response: vLLM continues it if told so, llama.cpp's server by itself
CONTINUE = {"continue_final_message": True, "add_generation_prompt": False}
LONGEST = 2000  # characters of what is shown of a reply
CHUNK_ROUNDS = 64  # requests per connection in a chunk. All connections wait for a chunk's last request
STEP_S = 1.0  # seconds between two calls of `on_step`
EXTENSIONS = ("top_k", "min_p", "repetition_penalty", "chat_template_kwargs")  # fields beyond OpenAI's interface


class OpenAIEngine(Kind):
    """Samples from a server.

    Args:
        model: the model's name on the server.
        url: the server's base address, as in "http://127.0.0.1:8000/v1".
        concurrency: the maximum number of simultaneous requests.
        price_in, price_out: USD for a million tokens of prompts and of responses. None: no price is reported.
    Raises:
        UsageError: an address that is not http(s) or has a password in it, a key that no header can hold, a number
            below 1, a negative price.
    """

    served: ClassVar[bool] = True
    decoding: ClassVar[frozenset[str]] = frozenset({*EXTENSIONS, "stop", "reasoning_effort", "extra_body"})
    tokenizer = None
    context = None

    def __init__(
        self,
        model: str,
        *,
        url: str | None = None,
        concurrency: int = 16,
        price_in: float | None = None,
        price_out: float | None = None,
    ) -> None:
        if concurrency < 1:
            raise UsageError(f"concurrency={concurrency}, expected >= 1")
        for name, price in (("price_in", price_in), ("price_out", price_out)):
            if price is not None and not price >= 0:
                raise UsageError(f"{name}={price}, expected >= 0: USD for a million tokens")
        self.model, self.url, self.concurrency = model, _address(url), concurrency
        if (price_in is None) is not (price_out is None):
            stated, missing = ("price_in", "price_out") if price_out is None else ("price_out", "price_in")
            raise UsageError(f"{stated}: expected {missing} with it, as 0 for nothing")
        self.prices = (price_in, price_out)
        self.trouble = ""  # what the last reply was that is asked for again, in words. "" for none
        self.used: Counter[str] = Counter()  # requests, retries, tokens of prompts and responses, replies without them
        self._key = _key()
        self._named: set[str] = set()  # what the server said its model is

    @cached_property
    def _client(self) -> AsyncOpenAI:
        from openai import AsyncOpenAI, DefaultAsyncHttpxClient

        from evals.sampling.engines.limits import ENCODINGS

        return AsyncOpenAI(
            api_key=self._key or "none",  # the SDK wants one
            base_url=self.url,
            timeout=TIMEOUT_S,
            max_retries=ATTEMPTS - 1,
            http_client=DefaultAsyncHttpxClient(
                follow_redirects=False,
                event_hooks={"request": [self._note_try], "response": [self._note_reply]},
                headers={"Accept-Encoding": ", ".join(ENCODINGS)},
            ),
        )

    async def _note_try(self, request: httpx.Request) -> None:
        """Called before each request; of one that is sent again, and got no reply before, that is the trouble."""
        if request.headers.get(TRY, "0") != "0":
            self.trouble = self.trouble or "no answer"

    async def _note_reply(self, response: httpx.Response) -> None:
        """Called when the header of a reply has come, before its body is read."""
        from evals.sampling.engines.limits import limit

        limit(response, LARGEST)
        code = response.status_code
        again = code in (408, 409, 429) or code >= 500  # what the SDK sends again
        self.trouble = f"HTTP {code}" if again else ""

    @cached_property
    def _loop(self) -> asyncio.AbstractEventLoop:
        loop = asyncio.new_event_loop()
        threading.Thread(target=loop.run_forever, name="openai", daemon=True).start()
        return loop

    @property
    def chunk_rows(self) -> int:
        return self.concurrency * CHUNK_ROUNDS

    def describe(self) -> dict[str, object]:
        return {
            "name": "openai",
            "model": self.model,
            "url": self.url,
            "seeded": "each request carries its seed; whether the server heeds it is not known",
            "batch_independent": False,
        }

    def usage(self) -> dict[str, float]:
        """The requests to the server so far: requests, retries, prompt_tokens, response_tokens, unknown_tokens (replies
        that do not state their tokens) and, with both prices, usd."""
        names = ("requests", "retries", "prompt_tokens", "response_tokens", "unknown_tokens")
        used: dict[str, float] = {name: self.used[name] for name in names}
        price_in, price_out = self.prices
        if price_in is None or price_out is None:
            return used
        cost = used["prompt_tokens"] * price_in + used["response_tokens"] * price_out
        return {**used, "usd": cost / 1e6}

    def generate(
        self, requests: Sequence[Request], decoding: Decoding, on_step: OnStep | None = None
    ) -> Iterator[list[Completion]]:
        """One completion for each request, in groups, as they arrive.

        Raises:
            UsageError: a request has a prefix of its response: a server takes text, not tokens.
            EngineError: a request failed for good. It names problem and sample. Finished completions are yielded first.
        """
        if any(request.forced for request in requests):
            raise UsageError("engine openai cannot continue the prefix of a response. Expected a local engine")
        left = iter(requests)
        under_way: set[Future[Completion]] = set()
        failure: BaseException | None = None
        try:
            while True:
                while failure is None and len(under_way) < self.concurrency and (request := next(left, None)):
                    under_way.add(asyncio.run_coroutine_threadsafe(self._complete(request, decoding), self._loop))
                if not under_way:
                    break
                futures, under_way = wait(under_way, timeout=STEP_S, return_when=FIRST_COMPLETED)
                failed = [error for future in futures if (error := future.exception())]
                failure = failure or next(iter(failed), None)
                if came := [future.result() for future in futures if not future.exception()]:
                    yield came
                if on_step is not None:
                    on_step(0)  # a server tells no tokens before a response is whole
        finally:
            for future in under_way:
                future.cancel()
        if failure is not None:
            raise failure

    async def _complete(self, request: Request, decoding: Decoding) -> Completion:
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
        stated = decoding.stated()
        settings |= {key: stated[key] for key in ("stop", "reasoning_effort") if key in stated}
        more = {key: stated[key] for key in EXTENSIONS if key in stated}
        if request.messages is not None and request.messages[-1]["role"] == "assistant":
            more |= CONTINUE
        more |= dict(decoding.extra_body or {})
        if more:
            settings["extra_body"] = more
        if self._key is None:
            settings["extra_headers"] = {"Authorization": Omit()}
        try:
            async with asyncio.timeout(WHOLE_S):
                if request.messages is None:
                    answer = await self._client.completions.with_raw_response.create(
                        prompt=request.prompt_text, **settings
                    )
                else:
                    messages: Any = [dict(message) for message in request.messages]
                    answer = await self._client.chat.completions.with_raw_response.create(messages=messages, **settings)
            self.used.update(requests=1, retries=answer.retries_taken)
            return self._read(request, self._body(answer.http_response))
        except APIStatusError as error:
            why = f"HTTP {error.status_code}: {self._refusal(error)}"
            if error.status_code in (401, 403):
                why += f" ({KEY_ENV}, where the key is read from, is {'set' if self._key else 'not set'})"
        except APIConnectionError as error:  # refused, dropped, timed out, cut short
            why = f"no answer ({type(error).__name__}: {error.__cause__ or error})"
        except TimeoutError:
            why = f"no whole answer after {WHOLE_S:g} s"
        except ValueError as error:
            why = str(error)
        raise EngineError(
            f"problem {request.key[0]!r}, sample {request.key[1]}, of {self.model} at {self.url}: "
            f"{self._shown(why, LONGEST)}"
        )

    def _refusal(self, error: APIStatusError) -> str:
        """The server's reason for a request that it refused."""
        try:
            return self._shown(self._body(error.response).strip() or error.message, 500)
        except ReplyError as reply_error:
            return str(reply_error)

    def _body(self, response: Any) -> str:
        """The text of a reply.

        Raises:
            ReplyError: it is longer than `LARGEST`, or packed in a way that was not asked for.
        """
        from evals.sampling.engines.limits import CUT, PACKED

        if response.extensions.get(CUT):
            raise ReplyError(f"the answer is longer than {LARGEST / 2**20:.3g} MiB")
        if packed := response.extensions.get(PACKED):
            raise ReplyError(f"the answer is compressed with {packed!r}: expected gzip, deflate or none")
        return str(response.text)

    def _shown(self, text: str, limit: int) -> str:
        """The start of what a server said, with the key and other credentials hidden before the cut."""
        return redacted_start(text, limit, *([] if self._key is None else [self._key]))

    def _read(self, request: Request, body: str) -> Completion:
        """The completion in the server's answer. A value that it does not state is None.

        Raises:
            ReplyError: as `read_reply`.
        """
        try:
            reply = read_reply(body, chat=request.messages is not None)
        except ReplyError as error:
            raise ReplyError(f"{error}: {self._shown(body, 200)}") from None
        self._note_model(reply.model)
        unknown = reply.tokens is None or reply.strange
        self.used.update(
            prompt_tokens=reply.prompt_tokens or 0, response_tokens=reply.tokens or 0, unknown_tokens=int(unknown)
        )
        return Completion(request.key, reply.text, reply.tokens, reply.finish_reason)

    def _note_model(self, named: str | None) -> None:
        """Say once for each name that the server says it is another model than the one that was asked for."""
        if isinstance(named, str) and named not in self._named and not same_model(self.model, named):
            shown = self._shown(repr(named), LONGEST)
            logger.warning(f"WARNING: model={self.model}: the server says that its model is {shown}")
        self._named.add(str(named))


def same_model(requested: str, named: str) -> bool:
    """Whether a server's name of its model may be of the one that was asked for: the same, without its owner or folder,
    or with a date or version after it, as gpt-4o-2024-08-06 of gpt-4o."""
    wanted, reported = (name.rstrip("/").rpartition("/")[2].casefold() for name in (requested, named))
    return not reported or reported == wanted or reported.startswith((f"{wanted}-", f"{wanted}:", f"{wanted}@"))


def _address(url: str | None) -> str:
    if url is None:
        raise UsageError("url: missing. Expected the server's base address, as in engine.url=http://127.0.0.1:8000/v1")
    parts = urllib.parse.urlsplit(url)
    if parts.username or parts.password or parts.query or parts.fragment:  # may be secrets: not shown
        raise UsageError("url: expected no user, password, query or fragment in it. A key goes into OPENAI_API_KEY")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"url={url!r}, expected http://HOST[:PORT]/v1 or https://...")
    return url.rstrip("/")


def _key() -> str | None:
    key = os.environ.get(KEY_ENV, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise UsageError(f"the key in {KEY_ENV} holds characters that no header can. Check the variable")
    return key or None
