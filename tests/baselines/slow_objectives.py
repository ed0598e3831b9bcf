"""Objectives token by token on scalar tensors, from the papers' equations: slow versions that have a gradient."""

from __future__ import annotations

import math
from typing import Any

import torch


def slow_objective(name: str, rows: dict[str, torch.Tensor], v: dict[str, Any]) -> torch.Tensor:
    """[B, T] with gradient, 0 on masked positions, for `rows` of logp, old_logp, advantages and mask."""
    logp, old, adv, mask = (rows[key] for key in ("logp", "old_logp", "advantages", "mask"))
    out = [[logp.new_zeros(()) for _ in range(logp.shape[1])] for _ in range(logp.shape[0])]
    for i, length in enumerate(mask.sum(1).tolist()):
        d = [logp[i, k] - old[i, k] for k in range(length)]
        for k in range(length):
            out[i][k] = _term(name, i, k, d, (logp, old, adv), v)
    return torch.stack([torch.stack(row) for row in out])


def _term(name: str, i: int, k: int, d: list[Any], tensors: Any, v: dict[str, Any]) -> Any:
    logp, old, adv = tensors
    a, ratio, length = float(adv[i, k]), d[k].exp(), len(d)
    if name == "gspo":  # the sequence's ratio, whole: its gradient on each of the length equal terms
        s = (sum(d) / length).exp()
        return torch.minimum(s * a, s.clamp(1 - v["low"], 1 + v["high"]) * a)
    if name == "cispo":
        low = None if v["low"] is None else 1 - v["low"]
        return ratio.detach().clamp(low, 1 + v["high"]) * a * logp[i, k]
    if name == "gmpo":
        if a == 0:
            return ratio * 0.0
        cut = [x.clamp(max=v["high"]) if a > 0 else x.clamp(min=-v["low"]) for x in d]
        return a * (sum(cut) / length).exp()
    if name == "sapo":
        tau = v["tau_pos"] if a > 0 else v["tau_neg"]
        return 4 / tau * torch.sigmoid(tau * (ratio - 1)) * a
    if name == "dppo":
        p, q = float(logp[i, k].detach().exp()), float(old[i, k].exp())
        moved = abs(p - q)
        if v["divergence"] == "binary_kl":
            moved = q * math.log(q / p) + (1 - q) * math.log((1 - q + 1e-8) / (1 - p + 1e-8))
        leaves = (p > q and moved > v["high"]) if a > 0 else (p < q and moved > v["low"])
        return ratio.detach().clamp(max=v["truncate"]) * a * logp[i, k] * (0.0 if leaves else 1.0)
    if name == "vespo":
        power, decay = (v["k_neg"], v["lambda_neg"]) if a < 0 else (v["k_pos"], v["lambda_pos"])
        w = float(sum(d).detach().exp())
        return w**power * math.exp(decay * (1 - w)) * a * logp[i, k]
    if name == "dro":
        return a * logp[i, k] - v["beta"] / 2 * d[k] * d[k]
    if name in ("ipo", "kimi_k25"):
        r = float(ratio.detach())
        inside = 1 - v["low"] <= r <= 1 + v["high"] if name == "kimi_k25" else _near(logp[i, k], old[i, k], v)
        bound = max(1 - v["low"], min(1 + v["high"], r)) if name == "kimi_k25" else 0.0
        return (ratio if inside else bound) * a - v["drift"] * d[k] * d[k]
    if name == "ce_gppo":  # the paper's three cases, one by one
        unit, r = ratio / ratio.detach(), float(ratio.detach())
        if a < 0 and r < 1 - v["low"]:
            return v["beta1"] * (1 - v["low"]) * unit * a
        if a > 0 and r > 1 + v["high"]:
            return v["beta2"] * (1 + v["high"]) * unit * a
        return ratio * a
    return a * logp[i, k]


def _near(logp: torch.Tensor, old: torch.Tensor, v: dict[str, Any]) -> bool:
    return bool((logp.detach().exp() - old.exp()).abs() <= v["threshold"])
