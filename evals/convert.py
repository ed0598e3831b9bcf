"""Files of known kinds that are not read: how Python makes a file of them that is."""

from __future__ import annotations

import shlex
from pathlib import Path

from evals.errors import UsageError

_YAML = ("YAML", ".json", "import json, yaml; print(json.dumps(yaml.safe_load(open('{}'))))")
_TORCH = (
    *("PyTorch's file", ".json"),
    "import json, torch; print(json.dumps(torch.load('{}', map_location='cpu', weights_only=True), "
    "default=lambda of: of.tolist()))",
)
_SQLITE = (
    *("a database", ".csv"),
    "import pandas, sqlite3; print(pandas.read_sql('select * from TABLE', sqlite3.connect('{}')).to_csv(index=False))",
)
CONVERTED = {  # suffix -> what it is, the suffix of the new file, and the code that prints it
    ".yaml": _YAML,
    ".yml": _YAML,
    ".xlsx": ("a spreadsheet", ".csv", "import pandas; print(pandas.read_excel('{}').to_csv(index=False))"),
    ".pkl": (
        "a pickle (it can run code when it is opened, so convert only one that you trust)",
        ".jsonl",
        "import json, pandas; of = pandas.read_pickle('{}'); print(of.to_json(orient='records', lines=True) "
        "if hasattr(of, 'to_json') else json.dumps(of, default=lambda of: of.tolist()))",
    ),
    ".arrow": (
        "an Arrow file",
        ".jsonl",
        "import datasets, sys; datasets.Dataset.from_file('{}').to_json(sys.stdout.buffer)",
    ),
    ".feather": (
        "a Feather file",
        ".jsonl",
        "import pandas; print(pandas.read_feather('{}').to_json(orient='records', lines=True))",
    ),
    ".npy": (
        *("NumPy's array", ".csv"),
        "import numpy, pandas; print(pandas.DataFrame(numpy.load('{}')).to_csv(index=False))",
    ),
    ".pt": _TORCH,
    ".pth": _TORCH,
    ".db": _SQLITE,
    ".sqlite": _SQLITE,
    ".npz": (
        "NumPy's archive",
        ".csv",
        "import numpy, pandas; print(pandas.DataFrame({{n: of.reshape(len(of), -1).mean(1) for n, of in "
        "numpy.load('{}').items()}}).to_csv(index=False))",
    ),
}


LARGEST_POINTER = 1024  # bytes, by the specification of Git LFS
_POINTER = b"version https://git-lfs.github.com/spec/"


def refuse_converted(path: Path) -> None:
    """Refuse a file of such a kind, one of TensorBoard's events, and a pointer of Git LFS.

    Raises:
        UsageError: it says how to convert the file.
    """
    if ".tfevents." in path.name:
        raise UsageError(
            f"{path} holds TensorBoard's events, which are not read. Download the curve as CSV or JSON in TensorBoard"
        )
    if path.is_file() and path.stat().st_size < LARGEST_POINTER and path.read_bytes().startswith(_POINTER):
        raise UsageError(f"{path} is a pointer of Git LFS, and no data. In its repository, type git lfs pull")
    if path.suffix in CONVERTED:
        what, suffix, code = CONVERTED[path.suffix]
        target = shlex.quote(str(path.with_suffix(suffix)))
        raise UsageError(f'{path} is {what}, which is not read. Convert it: python -c "{code.format(path)}" > {target}')
