"""The table of released code: repository, commit, file, function, licence, and what drives it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from benchmarks.released.batches import Drawn
from benchmarks.released.drivers import Driver, Function
from benchmarks.released.oat_learner import OatLearner
from benchmarks.released.prime_loss import PrimeLoss
from benchmarks.released.swift_loss import SwiftLoss
from benchmarks.released.trl_loss import TrlLoss
from benchmarks.released.verl_actor import Rows, VerlActor

if TYPE_CHECKING:
    from omegaconf import DictConfig

EACH = 0
"""Forward passes of one response each."""


@dataclass(frozen=True)
class Place:
    """A line of the checkout, found by its text, so that it cannot be stale."""

    path: str
    text: str


@dataclass(frozen=True)
class Case:
    """One row of the page.

    Args:
        title: the method, and which script or arm of it. arxiv: its paper.
        repository: owner/name on GitHub. commit: at least 8 digits; of a package its version, installed or unpacked.
        licence: of the measured files.
        driver: how its update step is driven. places: the functions that are measured.
        blobs: git's number of some measured files, so that another commit is noticed: (path, its first digits).
        passes: forward passes of one optimiser step, the authors' own first. EACH is one response per pass.
        arm: paper and arm of this repository that train what the code computes, where that is not the declared method.
        note: what the page says below the table. answer: what the authors have published about it.
    """

    title: str
    arxiv: str
    repository: str
    commit: str
    licence: str
    driver: Driver
    places: tuple[Place, ...]
    blobs: tuple[tuple[str, str], ...]
    passes: tuple[int, ...] = (1, 2)
    arm: tuple[str, str] | None = None
    note: str = ""
    answer: str = ""

    @property
    def folder(self) -> str:
        """The checkout's folder, in the user's FOLDER."""
        return f"{self.repository.split('/')[1]}@{self.commit[:8]}"


ACTOR = "verl/workers/actor/dp_actor.py"
CORE = "verl/trainer/ppo/core_algos.py"
DAPO_YAML = ("recipe/dapo/config", "dapo_trainer")
APACHE = "Apache-2.0"
NONE_STATED = "none stated (the copy of veRL in it is Apache-2.0)"
MAIN_PPO, MAIN_DAPO = "verl.trainer.main_ppo", "recipe.dapo.main_dapo"


def loss_and_actor(loss: str, actor_line: str, core: str = CORE, file: str = ACTOR) -> tuple[Place, Place]:
    """The two places of a case on veRL: the loss, and where the update step calls it."""
    return Place(core, loss), Place(file, actor_line)


# Forking tokens (arXiv 2506.01939)

FORKING = "Shenzhi-Wang/Beyond-the-80-20-Rule-RLVR"
FORKING_PLACES = loss_and_actor("def get_global_entropy_top_mask", "entropy_top_ratio = self.config.get")
FORKING_DRIVER = VerlActor(
    "recipe/rlvr_with_high_entropy_tokens_only/run_only_top20_high_entropy_tokens_dapo_qwen3_14b.sh",
    MAIN_DAPO,
    ("entropy_top_ratio", "clip_ratio_c"),
    yaml=DAPO_YAML,
    typed=True,
)
FORKING_ANSWER = (
    "The authors' README, since 29 November 2025: a fault came in when the repository was converted to open source, "
    "137d8d1e repairs it, and the code behind the paper's results was not affected."
)

# From Trial-and-Error to Improvement (arXiv 2508.07534)

SLOW_THINKING = "RUCAIBox/Slow_Thinking_with_LLMs"
TRIAL = "entropy2performance"
TRIAL_CORE, TRIAL_ACTOR = f"{TRIAL}/verl/{CORE}", f"{TRIAL}/verl/{ACTOR}"
TRIAL_BLOBS = ((TRIAL_CORE, "005e87d2"), (TRIAL_ACTOR, "2eeb625d"))


def perplexities(core: ModuleType, config: DictConfig, rows: Rows, drawn: Drawn) -> None:
    """The columns of the authors' calculate_ppl, which their trainer adds before the update."""
    shaped = Rows({"old_log_probs": drawn.old_logp, "attention_mask": drawn.mask.long()}, {})
    shaped.non_tensor_batch["uid"] = [str(int(group)) for group in drawn.groups]
    core.calculate_ppl(shaped)
    rows.update({name: shaped[name] for name in ("ppl", "ppl_weight", "ppl_iqr_mask")})


def trial(script: str, step: int, *overrides: str) -> VerlActor:
    """Args: step: of the training. The bonus of location.sh is added at steps 201 to 299 (ray_trainer.py)."""
    return VerlActor(
        f"{TRIAL}/scripts/{script}.sh",
        MAIN_PPO,
        ("use_ppl", "ppl_delta", "use_ppl_high", "add_loaction_bonus"),
        folder=f"{TRIAL}/verl",
        meta=(("global_steps", step), ("use_location", 200 < step < 300)),
        prepared=perplexities,
        # The scripts never set these two variables. They say what is saved, and no loss reads them.
        overrides=("actor_rollout_ref.actor.save_grad=False", "actor_rollout_ref.actor.save_grad_dir=null", *overrides),
    )


# The Entropy Mechanism (arXiv 2505.22617)

COVARIANCE = "PRIME-RL/Entropy-Mechanism-of-RL"
WIDE_BAND = ("clip_cov_ratio=0.1", "clip_cov_lb=0.1", "clip_cov_ub=1.5")


def covariance(mode: str, *overrides: str) -> VerlActor:
    return VerlActor(
        f"recipe/dapo/7b_{mode}.sh",
        MAIN_DAPO,
        ("loss_mode", "clip_cov_ratio", "clip_cov_lb", "clip_cov_ub", "k_percent", "ppo_kl_coef"),
        yaml=DAPO_YAML,
        overrides=tuple(f"actor_rollout_ref.actor.{word}" for word in overrides),
    )


# Dr. GRPO (arXiv 2503.20783) and GMPO (arXiv 2507.20673), both on oat

OAT_FOLDER, OAT_PLACE = "oat@78d6f950", "../oat@78d6f950/oat/algorithms/ppo.py"
OAT_NOTE = "oat at 78d6f950, by date: the version that the README pins has no tag in the repository."
READ_BY_OAT: tuple[tuple[str, type], ...] = (
    *(("critic_type", str), ("generate_max_length", int), ("cliprange", float), ("beta", float)),
    *(("num_ppo_epochs", int), ("kl_penalty_coef", float), ("temperature", float)),
)

# CE-GPPO (arXiv 2509.20712), Entropy Ratio Clipping (arXiv 2512.05591)

GPPO_VALUES = ("loss_func", "only_high", "gppo_loss_beta1", "gppo_loss_beta2", "positive_loss_coeff", "clip_ratio_c")


def correctness(drawn: Drawn) -> dict[str, Tensor]:
    """The rewards and the sampling policy's entropies: 1 for a correct response, -1 for another, on its first token."""
    rewards = torch.zeros_like(drawn.old_logp)
    rewards[:, 0] = torch.where(drawn.rewards > 0, 1.0, -1.0)
    return {"token_level_rewards": rewards, "entropys": drawn.old_entropies}


def ce_gppo(script: str) -> VerlActor:
    return VerlActor(
        f"recipe/dapo/{script}",
        "recipe.dapo.src.main_dapo",
        GPPO_VALUES,
        yaml=("recipe/dapo/src/config", "dapo_trainer"),
        columns=correctness,
    )


def erc(base: str) -> VerlActor:
    return VerlActor(
        f"recipe/dapo/1_5B_perf_run_dapo_ours_math_szp_ae_{base}_erc_1_05.sh",
        MAIN_DAPO,
        ("policy_loss.loss_mode", "entropy_mask_low", "entropy_mask_high", "postive_loss_coeff", "clip_ratio_c"),
        yaml=DAPO_YAML,
        typed=True,
        columns=correctness,
        discarded=("torch.save", "os.makedirs"),
    )


# STARE (arXiv 2606.19236), SimKO (arXiv 2510.14807)


def open_gate(core: ModuleType, config: DictConfig, rows: Rows, drawn: Drawn) -> None:
    """The authors' controller after a step whose entropy is two thirds of the target: its gate is open."""
    stare = config.get("stare")
    names = ("target_entropy", "reweight_w", "reweight_m", "adaptive", "alpha", "w_max", "m_min")
    controller = core.STAREController(**{name: stare.get(name) for name in names})
    controller.update(2 / 3 * float(stare.get("target_entropy")))
    rows.meta_info["stare_controller"] = dict(controller.__dict__)


def likeliest(drawn: Drawn) -> dict[str, Tensor]:
    """Log-probabilities of the three likeliest tokens under the sampling policy, and rewards of 0 or 1."""
    scores = torch.zeros_like(drawn.old_logp)
    scores[:, 0] = drawn.rewards
    return {"old_log_probs_topk": drawn.old_top_logp, "token_level_scores": scores}


# DRO (arXiv 2405.19107), IPO of prime-rl, FIPO (arXiv 2603.19835), REAL (arXiv 2602.05630): others' code

SWIFT_TRAINER = "swift/rlhf_trainers/grpo_trainer.py"
SWIFT_SCRIPTS = "examples/train/grpo/internal"
READ_BY_SWIFT: tuple[tuple[str, type], ...] = (
    *(("loss_type", str), ("beta", float), ("epsilon", float), ("epsilon_high", float), ("delta", float)),
)
READ_BY_FIPO: tuple[tuple[str, type], ...] = (
    *(("fipo_decay_rate", float), ("fipo_clip_range", float), ("fipo_clip_high_only", bool)),
    ("fipo_safety_threshold", float),
)


def swift(title: str, arxiv: str, script: str, read: tuple[tuple[str, type], ...], line: str) -> Case:
    return Case(
        title,
        arxiv,
        *("modelscope/ms-swift", "3602360a", APACHE),
        SwiftLoss(f"{SWIFT_SCRIPTS}/{script}", (*READ_BY_SWIFT, *read)),
        (Place(SWIFT_TRAINER, line), Place(SWIFT_TRAINER, "def _compute_loss_and_metrics")),
        ((SWIFT_TRAINER, "e261ef04"),),
        passes=(1,),
        note="Code of a framework, and not of the paper's authors.",
    )


# Losses of frameworks, which are controls

VERL = "verl-project/verl"
TRL, TRL_VERSION = "huggingface/trl", "1.16.0"
TRL_PLACES = (Place("trl/trainer/grpo_trainer.py", "def _compute_loss"),)


VERL_NAMES = (
    *(("log_prob", "logp"), ("old_log_prob", "old_logp"), ("advantages", "advantages"), ("response_mask", "mask")),
)
VERL_DAPO = (
    *(("strategy", "fsdp"), ("rollout_n", 4), ("ppo_micro_batch_size_per_gpu", 8)),
    *(("clip_ratio_low", 0.2), ("clip_ratio_high", 0.28), ("clip_ratio_c", 10.0)),
)


verl_script = partial(VerlActor, shown=("policy_loss.loss_mode", "clip_ratio_c"), typed=True)


def trl(title: str, arxiv: str, **settings: str | float) -> Case:
    return Case(title, arxiv, TRL, TRL_VERSION, APACHE, TrlLoss(tuple(settings.items())), TRL_PLACES, (), (1, 2))


CASES: dict[str, Case] = {
    "forking_tokens_before": Case(
        "Forking tokens, script of 14B, before its repair",
        "2506.01939",
        *(FORKING, "097092a5", APACHE, FORKING_DRIVER, FORKING_PLACES),
        ((CORE, "59507ad6"), ("verl/workers/config/actor.py", "fe5b3e11")),
        answer=FORKING_ANSWER,
        arm=("forking_tokens", "top20_as_released"),
    ),
    "forking_tokens_after": Case(
        "Forking tokens, script of 14B, after its repair",
        "2506.01939",
        *(FORKING, "137d8d1e", APACHE, FORKING_DRIVER, FORKING_PLACES),
        ((CORE, "bcd427ec"), ("verl/workers/config/actor.py", "14a2eb1d")),
        note="At 6f5dda6f, which our declaration cites, the measured files are those of 137d8d1e.",
        answer=FORKING_ANSWER,
    ),
    "low_ppl": Case(
        "Perplexity advantage, low_ppl.sh",
        "2508.07534",
        *(SLOW_THINKING, "834e1b79", APACHE, trial("low_ppl", 250)),
        loss_and_actor("if use_ppl is True and use_ppl_high is False", "ppl_weight=data", TRIAL_CORE, TRIAL_ACTOR),
        TRIAL_BLOBS,
        arm=("trial_and_error", "low_ppl_as_released"),
    ),
    "high_ppl": Case(
        "Perplexity advantage, low_ppl.sh with use_ppl_high=True (a control)",
        "2508.07534",
        *(SLOW_THINKING, "834e1b79", APACHE, trial("low_ppl", 250, "++actor_rollout_ref.actor.use_ppl_high=True")),
        loss_and_actor("if use_ppl is True and use_ppl_high is True", "ppl_weight=data", TRIAL_CORE, TRIAL_ACTOR),
        TRIAL_BLOBS,
    ),
    "location": Case(
        "Position advantage, location.sh, step 250",
        "2508.07534",
        *(SLOW_THINKING, "834e1b79", APACHE, trial("location", 250)),
        loss_and_actor("pos_decay = torch.sigmoid", "whether_use_location=whether", TRIAL_CORE, TRIAL_ACTOR),
        TRIAL_BLOBS,
        note="The trainer adds the bonus at steps 201 to 299 alone (ray_trainer.py).",
        arm=("trial_and_error", "grpo_position"),
    ),
    "kl_cov": Case(
        "KL-Cov, 7b_kl_cov.sh",
        "2505.22617",
        *(COVARIANCE, "88505792", NONE_STATED, covariance("kl_cov")),
        loss_and_actor("def compute_policy_loss_kl_cov", "compute_policy_loss_kl_cov("),
        ((CORE, "8456783e"), (ACTOR, "2a0e30e8")),
    ),
    "clip_cov": Case(
        "Clip-Cov, 7b_clip_cov.sh",
        "2505.22617",
        *(COVARIANCE, "88505792", NONE_STATED, covariance("clip_cov")),
        loss_and_actor("def compute_policy_loss_clip_cov", "compute_policy_loss_clip_cov("),
        ((CORE, "8456783e"), (ACTOR, "2a0e30e8")),
        arm=("baselines", "clip_cov_as_released"),
    ),
    "clip_cov_wide": Case(
        "Clip-Cov, 7b_clip_cov.sh with a share of 0.1 and the band 0.1 to 1.5 (more tokens act)",
        "2505.22617",
        *(COVARIANCE, "88505792", NONE_STATED, covariance("clip_cov", *WIDE_BAND)),
        loss_and_actor("def compute_policy_loss_clip_cov", "compute_policy_loss_clip_cov("),
        ((CORE, "8456783e"), (ACTOR, "2a0e30e8")),
        arm=("baselines", "clip_cov_as_released"),
    ),
    "dr_grpo": Case(
        "Dr. GRPO, llama3.2-3b-numinaqa.sh",
        "2503.20783",
        *("sail-sg/understand-r1-zero", "dfca49dd", "MIT; oat: Apache-2.0"),
        OatLearner(
            "examples/llama3.2-3b-numinaqa.sh", "train_zero_math.py", "train_zero_math", OAT_FOLDER, READ_BY_OAT
        ),
        (Place("train_zero_math.py", "self.masked_aggregator = ("), Place(OAT_PLACE, "pg_loss_max = torch.max")),
        (("train_zero_math.py", "98a6ca5a"), (OAT_PLACE, "36f9d2b9")),
        passes=(EACH, 2),
        note=OAT_NOTE,
    ),
    "gmpo": Case(
        "GMPO, qwen2.5-math-7b-gmpo.sh",
        "2507.20673",
        *("callsys/GMPO", "205b2bf4", "none stated (its oat: Apache-2.0)"),
        OatLearner(
            *("scripts/qwen2.5-math-7b-gmpo.sh", "train_zero_math_gmpo.py", "train_zero_math_gmpo", OAT_FOLDER),
            (*READ_BY_OAT, ("critic_type_modify", str)),
        ),
        (Place("train_zero_math_gmpo.py", 'self.args.critic_type_modify == "gmpo"'),),
        (("train_zero_math_gmpo.py", "3d9c6eac"),),
        passes=(EACH,),
        note="Its update step takes one response per pass, as its script says; with more it cannot run. " + OAT_NOTE,
    ),
    "dapo": Case(
        "DAPO, veRL's recipe (run_dapo_qwen2.5_32b.sh)",
        "2503.14476",
        *(VERL, "d62da495", APACHE),
        verl_script("recipe/dapo/run_dapo_qwen2.5_32b.sh", MAIN_DAPO, yaml=DAPO_YAML),
        loss_and_actor("def compute_policy_loss_vanilla", "policy_loss_fn = get_policy_loss_fn"),
        ((CORE, "cb09503f"), (ACTOR, "6eb2e523")),
        note="v0.6.1 of veRL, a tag.",
        arm=("baselines", "dapo"),
    ),
    "gspo": Case(
        "GSPO, veRL's recipe (test_gspo_3b_math.sh)",
        "2507.18071",
        *(VERL, "d62da495", APACHE, verl_script("recipe/gspo/test_gspo_3b_math.sh", MAIN_PPO)),
        loss_and_actor("def compute_policy_loss_gspo", "policy_loss_fn = get_policy_loss_fn"),
        ((CORE, "cb09503f"), (ACTOR, "6eb2e523")),
        note="The paper's authors published no training code. This is veRL's at v0.6.1.",
    ),
    "gmpo_verl": Case(
        "GMPO, veRL's example (run_qwen2_5-7b_math.sh)",
        "2507.20673",
        *(VERL, "d62da495", APACHE, verl_script("examples/gmpo_trainer/run_qwen2_5-7b_math.sh", MAIN_PPO)),
        loss_and_actor("def compute_policy_loss_geo_mean", "policy_loss_fn = get_policy_loss_fn"),
        ((CORE, "cb09503f"), (ACTOR, "6eb2e523")),
    ),
    "cispo": Case(
        "CISPO, veRL's example (run_cispo_qwen2_5_0_5b_gsm8k.sh)",
        "2506.13585",
        *(VERL, "bec9ef74", APACHE),
        verl_script(
            "examples/cispo_trainer/run_cispo_qwen2_5_0_5b_gsm8k.sh",
            MAIN_PPO,
            left_out=("actor_rollout_ref.model.torch_dtype",),
            forward=lambda rows: {"log_probs": rows.logp, "entropys": rows.entropies},
        ),
        loss_and_actor("def compute_policy_loss_cispo", "policy_loss_fn = get_policy_loss_fn"),
        ((CORE, "90475fda"), (ACTOR, "c13ffa09")),
        note="MiniMax-AI/MiniMax-M1 has no training code. This is veRL's at v0.7.1. "
        "The yaml at this commit refuses one of the script's arguments, which is left out here.",
    ),
    "ce_gppo": Case(
        "CE-GPPO, 1.5B script (beta1 0.5, beta2 1)",
        "2509.20712",
        *("Kwai-Klear/CE-GPPO", "10558fe0", APACHE, ce_gppo("1_5B_perf_run_gppo_v1_beta1_05_beta2_1_ours_math.sh")),
        loss_and_actor("def compute_gppo_loss_general_beta", "compute_gppo_loss_general_beta("),
        ((CORE, "21bf2b55"), (ACTOR, "3c595240")),
    ),
    "ce_gppo_only_high": Case(
        "CE-GPPO, perf_run_dapo_ours_math_only_high.sh",
        "2509.20712",
        *("Kwai-Klear/CE-GPPO", "10558fe0", APACHE, ce_gppo("perf_run_dapo_ours_math_only_high.sh")),
        (Place(CORE, "if only_higher"), Place(CORE, "only_high=False")),
        ((CORE, "21bf2b55"), (ACTOR, "3c595240")),
        note="The script's branch reads a name that its function does not define.",
    ),
    "erc_dapo": Case(
        "ERC on DAPO, 1.5B script",
        "2512.05591",
        *("Kwai-Klear/ERC", "f1885c53", APACHE, erc("dapo")),
        loss_and_actor("def compute_policy_loss_grpo_erc", 'save_dir = "'),
        ((CORE, "b371703e"), (ACTOR, "74d6b280")),
        note="Its update step writes a file per forward pass to a private folder; those writes are dropped here.",
    ),
    "erc_gppo": Case(
        "ERC on GPPO, 1.5B script",
        "2512.05591",
        *("Kwai-Klear/ERC", "f1885c53", APACHE, erc("gppo")),
        loss_and_actor("def compute_policy_loss_gppo_erc", 'save_dir = "'),
        ((CORE, "b371703e"), (ACTOR, "74d6b280")),
    ),
    "stare": Case(
        "STARE (O1), script of Qwen2.5-Math-7B, its gate open",
        "2606.19236",
        *("hp-luo/STARE", "bffb9e79", APACHE),
        VerlActor(
            "recipe/STARE/scripts/run_short_cot_qwen2.5_math_7b_STARE.sh",
            "recipe.STARE.main_stare",
            ("policy_loss.loss_mode", "stare.variant", "stare.top_p_ratio", "stare.reweight_w", "clip_ratio_c"),
            yaml=("recipe/STARE/config", "agent_math_trainer"),
            typed=True,
            prepared=open_gate,
        ),
        loss_and_actor("def compute_stare_token_weights", 'if "stare" in loss_mode'),
        ((CORE, "620a6d39"), (ACTOR, "a2325621")),
    ),
    "simko": Case(
        "SimKO, run_qwen2.5-math-7b_SimKO.sh",
        "2510.14807",
        *("CLR-Lab/SimKO", "306f4ff4", APACHE),
        VerlActor(
            "run_qwen2.5-math-7b_SimKO.sh",
            MAIN_PPO,
            ("simko", "top_k", "tau", "mix_topk_coef", "clip_ratio"),
            columns=likeliest,
            forward=lambda rows: (rows.entropies, rows.logp, rows.is_top, rows.top_logp),
        ),
        loss_and_actor("def compute_policy_loss_simko", "entropy = entropy.detach()"),
        ((CORE, "f9ef3c5e"), (ACTOR, "1695220f")),
        note="Its entropy term has no gradient (the entropy is detached); the GRPO script's has one.",
    ),
    "dro": Case(
        "DRO, veRL's loss (beta 0.05)",
        "2405.19107",
        *(VERL, "1dda039b", APACHE),
        Function(
            "verl.trainer.ppo.core_algos",
            "compute_policy_loss_dro",
            VERL_NAMES,
            values=(("loss_agg_mode", "token-mean"),),
            config=("verl.workers.config", "ActorConfig", VERL_DAPO),
            nested=("policy_loss", "PolicyLossConfig", (("loss_mode", "dro"), ("dro_beta", 0.05))),
        ),
        (Place(CORE, "def compute_policy_loss_dro"),),
        ((CORE, "a89bc392"),),
        note="Code of a framework. tinker-cookbook at 9dfcc3a2 has no code of this loss: it names it to a server. "
        "The value is the example of Tinker's page.",
    ),
    "ipo": Case(
        "IPO of prime-rl, its defaults",
        "2602.02276",
        *("PrimeIntellect-ai/prime-rl", "559b4477", APACHE, PrimeLoss("IPOLossConfig")),
        (Place("src/prime_rl/trainer/rl/loss.py", "def ipo_loss_fn"),),
        (("src/prime_rl/trainer/rl/loss.py", "7d9dcce8"),),
        note="Code of a framework. The paper is Kimi K2.5's, from which the penalty comes.",
    ),
    "fipo": swift(
        "FIPO, ms-swift's example (fipo.sh)", "2603.19835", "fipo.sh", READ_BY_FIPO, "def _compute_fipo_influence"
    ),
    "real": swift(
        "REAL, ms-swift's example (real.sh)",
        *("2602.05630", "real.sh", (("real_tau", float),), "elif self.loss_type == 'real':"),
    ),
    "verl_dapo": Case(
        "DAPO's loss, veRL 0.9.1 (a control)",
        "2503.14476",
        *(VERL, "0.9.1", APACHE),
        Function(
            "verl.trainer.ppo.core_algos",
            "compute_policy_loss_vanilla",
            VERL_NAMES,
            values=(("loss_agg_mode", "token-mean"),),
            config=("verl.workers.config", "ActorConfig", VERL_DAPO),
        ),
        (Place(CORE, "def compute_policy_loss_vanilla"),),
        ((CORE, "9d08b846"),),
    ),
    "trl_dapo": trl("DAPO's loss, TRL (a control)", "2503.14476", loss_type="dapo", epsilon_low=0.2, epsilon_high=0.28),
    "trl_gspo": trl(
        *("GSPO's loss, TRL (a control)", "2507.18071"),
        **{"loss_type": "grpo", "importance_sampling_level": "sequence", "epsilon_low": 3e-4, "epsilon_high": 4e-4},
    ),
    "trl_cispo": trl("CISPO's loss, TRL (a control)", "2506.13585", loss_type="cispo", epsilon_high=1.2),
    "trl_forking_tokens": trl(
        *("Forking tokens, TRL's top_entropy_quantile", "2506.01939"),
        **{"loss_type": "dapo", "top_entropy_quantile": 0.2, "epsilon_low": 0.2, "epsilon_high": 0.28},
    ),
}
