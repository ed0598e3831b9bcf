"""Import a module of somebody else's checkout; what is not installed is replaced by stubs, and each is named.

A stub stands for a missing package only where a file of the checkout asks for it: the optional imports of installed
packages fail as ever. A stub has no content. It may be imported, subclassed, used as a decorator or in an annotation,
and every call is recorded: a result that called a stub is not the authors' number.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import os
import sys
import types
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

MOST_MISSING_NAMES = 60


@dataclass
class Stubs:
    """All replaced parts: packages, names that an installed package lacks, and which stubs were called."""

    modules: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)
    called: list[str] = field(default_factory=list)

    def listed(self) -> list[str]:
        return sorted(self.modules | self.names)


class _StubType(type):
    """The class of stubs. A stub is itself a class, so that a checkout can derive from it."""

    _path: str
    _stubs: Stubs

    def __getattr__(cls, name: str) -> object:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return _stub(f"{cls._path}.{name}", cls._stubs)

    def __call__(cls, *arguments: object, **named: object) -> object:
        if "_path" not in cls.__dict__:  # a class of the checkout that derives from a stub
            return super().__call__(*arguments, **named)
        cls._stubs.called.append(cls._path)
        if len(arguments) == 1 and not named and callable(arguments[0]):
            return arguments[0]  # used as a decorator
        return _stub(f"{cls._path}()", cls._stubs)

    def __or__(cls, operand: object) -> type:  # in annotations: X | None
        return object

    __ror__ = __or__

    def __getitem__(cls, item: object) -> type:  # in annotations: X[int]
        return cls

    def _no_value(cls) -> NoReturn:
        raise TypeError(f"the checkout needs a value of {cls._path}, which is not installed")

    __iter__ = __bool__ = __float__ = __int__ = __len__ = _no_value


def _stub(path: str, stubs: Stubs) -> type:
    def init(self: object, *arguments: object, **named: object) -> None:
        pass

    body = {"_path": path, "_stubs": stubs, "__init__": init, "__module__": "stub"}
    return _StubType(path.rsplit(".", 1)[-1], (), body)


class _StubModule(types.ModuleType):
    def __init__(self, name: str, stubs: Stubs) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        self._stubs = stubs

    def __getattr__(self, name: str) -> type:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        value = _stub(f"{self.__name__}.{name}", self._stubs)
        setattr(self, name, value)
        return value


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Last on sys.meta_path, so it sees only names that nothing else found."""

    def __init__(self, roots: Sequence[Path], stubs: Stubs) -> None:
        self.folders = tuple(str(root) + os.sep for root in roots)
        self.names = own_names(roots)
        self.stubs = stubs

    def find_spec(self, name: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        top = name.split(".")[0]
        if top in self.names or top in sys.stdlib_module_names:
            return None  # nothing of the checkout is ever replaced
        whole = top not in sys.modules or isinstance(sys.modules[top], _StubModule)
        if not isinstance(sys.modules.get(top), _StubModule) and not self._asked_by_checkout():
            return None
        self.stubs.modules.add(top if whole else name)
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _StubModule(spec.name, self.stubs)

    def exec_module(self, module: types.ModuleType) -> None:
        pass

    def _asked_by_checkout(self) -> bool:
        frame = sys._getframe(2)
        while frame is not None and ("importlib" in frame.f_code.co_filename or frame.f_code.co_filename == __file__):
            frame = frame.f_back  # type: ignore[assignment]
        return frame is not None and os.path.abspath(frame.f_code.co_filename).startswith(self.folders)


def own_names(roots: Sequence[Path]) -> frozenset[str]:
    """The top-level modules of a checkout."""
    return frozenset(entry.name.removesuffix(".py") for root in roots for entry in root.iterdir())


def load(module: str, roots: Sequence[Path], stubs: Stubs) -> types.ModuleType:
    """Import `module` from `roots`, the first of which comes first.

    Raises:
        ImportError: the checkout fails by itself, or a module of this repository has the name of one of its own.
    """
    roots = [root.resolve() for root in roots]
    if not any(isinstance(finder, _Finder) and finder.names == own_names(roots) for finder in sys.meta_path):
        _prepare(roots, stubs)
    for _ in range(MOST_MISSING_NAMES):
        try:
            return importlib.import_module(module)
        except ImportError as error:
            _add_missing_name(error, roots, stubs)
    raise ImportError(f"{module}: more than {MOST_MISSING_NAMES} names are missing in installed packages")


def answer(module: str, name: str, value: object, stubs: Stubs) -> None:
    """Let the stub of a module that is not installed have one function, which returns `value`.

    For what a checkout computes while it is imported, and no loss reads.
    """
    parts = module.split(".")
    for end in range(1, len(parts) + 1):
        sys.modules.setdefault(".".join(parts[:end]), _StubModule(".".join(parts[:end]), stubs))
    stubs.modules.add(parts[0])
    stubs.names.add(f"{module}.{name} (returns {value!r})")
    setattr(sys.modules[module], name, lambda *_, **__: value)


def _prepare(roots: Sequence[Path], stubs: Stubs) -> None:
    """Put the checkout first on the path, and the stubs last. Once in a process: the next case finds all as it was."""
    loaded = own_names(roots) & {name for name in sys.modules if not name.startswith("_")} - set(
        sys.stdlib_module_names
    )
    if loaded:
        raise ImportError(f"{sorted(loaded)} of the checkout would not be imported: modules of these names are loaded")
    sys.dont_write_bytecode = True
    sys.path[:0] = [str(root) for root in roots]
    sys.meta_path.append(_Finder(roots, stubs))
    _stub_versions(stubs)


def _stub_versions(stubs: Stubs) -> None:
    """A missing package's version is 0.0.0: checkouts ask for versions when they are imported."""
    real = importlib.metadata.version

    def version(name: str) -> str:
        try:
            return real(name)
        except importlib.metadata.PackageNotFoundError:
            stubs.names.add(f"version of {name}")
            return "0.0.0"

    importlib.metadata.version = version


def _add_missing_name(error: ImportError, roots: Sequence[Path], stubs: Stubs) -> None:
    """After `from installed import name` without success. Raises the error if it is another one."""
    owner = sys.modules.get(error.name or "")
    origin = os.path.abspath(getattr(owner, "__file__", None) or "")
    if owner is None or not str(error).startswith("cannot import name"):
        raise error
    if origin.startswith(tuple(str(root) + os.sep for root in roots)):
        raise error  # the checkout's own module lacks it: the checkout's own fault
    wanted = str(error).split("'")[1]
    setattr(owner, wanted, _stub(f"{error.name}.{wanted}", stubs))
    stubs.names.add(f"{error.name}.{wanted}")
    for name in [name for name in sys.modules if name.split(".")[0] in own_names(roots)]:
        del sys.modules[name]
