"""Options of earlier versions and of other tools (lm-eval, lighteval, inspect, TRL, veRL), and what they are here."""

from __future__ import annotations

MOVED = {  # (command, option) of before -> the command that it is now
    ("power", "aa"): "aa",
    ("power", "paper"): "seeds",
    ("run", "rehearse"): "rehearse",
    ("plan", "config"): "config",
    ("export", "format"): "sync",
    ("import", "verify"): "verify",
    ("import", "name"): "curves",
    ("import", "columns"): "curves",
}
TRAIN, MEASURE = ("run", "plan", "config", "rehearse"), ("eval",)
ELSEWHERE = {  # commands -> option of other tools (lm-eval, lighteval, inspect, TRL, veRL) -> ours
    MEASURE: {
        "tasks": "benchmarks=[NAME,...]",
        "custom_tasks": "benchmarks=[FILE]",
        "include_path": "benchmarks=[FILE]",
        "limit": "rows=N, the first N problems",
        "max_samples": "rows=N, the first N problems",
        "num_samples": "n=N",
        "repeats": "n=N",
        "epochs": "n=N",
        "model_args": "model=PATH and engine.KEY=VALUE",
        "model_name": "model=PATH and engine.KEY=VALUE",
        "presence_penalty": "extra_body='{presence_penalty: X}' with engine=openai, a field of its request",
        "frequency_penalty": "extra_body='{frequency_penalty: X}' with engine=openai, a field of its request",
        "logit_bias": "extra_body='{logit_bias: {...}}' with engine=openai, a field of its request",
        "pretrained": "model=PATH",
        "model_base_url": "engine=openai engine.url=URL",
        "base_url": "engine=openai engine.url=URL",
        "gen_kwargs": "temperature=, top_p= and max_tokens=, as separate options",
        "generation_parameters": "temperature=, top_p= and max_tokens=, as separate options",
        "do_sample": "temperature=0 n=1 for greedy decoding",
        "until": "stop=[TEXT,...]",
        "stop_seqs": "stop=[TEXT,...]",
        "max_gen_toks": "max_tokens=N",
        "max_new_tokens": "max_tokens=N",
        "max_length": "max_tokens=N, without the prompt",
        "max_model_length": "max_tokens=N, without the prompt",
        "max_model_len": "max_tokens=N, without the prompt",
        "num_fewshot": "examples=FILE, few-shot examples of your own. Otherwise there are none",
        "num_fewshots": "examples=FILE, few-shot examples of your own. Otherwise there are none",
        "shots": "examples=FILE, few-shot examples of your own. Otherwise there are none",
        "fewshot_as_multiturn": "examples=FILE: examples are turns before the problem",
        "apply_chat_template": "prompt=NAME: a prompt says whether it goes through the chat template",
        "use_chat_template": "prompt=NAME: a prompt says whether it goes through the chat template",
        "override_chat_template": "prompt=NAME: a prompt says whether it goes through the chat template",
        "system_instruction": "system=TEXT",
        "system_prompt": "system=TEXT",
        "system_message": "system=TEXT",
        "enable_thinking": "chat_template_kwargs={enable_thinking:true|false}",
        "reasoning_tokens": "max_tokens=N, a limit on thought and answer together",
        "batch_size": "engine.batch_rows=N",
        "override_batch_size": "engine.batch_rows=N",
        "max_connections": "engine.concurrency=N with engine=openai",
        "num_concurrent": "engine.concurrency=N with engine=openai",
        "dtype": "engine.dtype=bfloat16|float16|float32",
        "device": "engine.device=cuda|cpu with engine=transformers. CUDA_VISIBLE_DEVICES says which GPU",
        "parallelize": "engine.replicas=N, one copy per GPU",
        "data_parallel_size": "engine.replicas=N, one copy per GPU",
        "tensor_parallel_size": "engine.tensor_parallel=N with engine=vllm",
        "gpu_memory_utilization": "engine.gpu_memory=X with engine=vllm",
        "output_path": "out=FOLDER",
        "output_dir": "out=FOLDER",
        "log_dir": "out=FOLDER",
        "log_samples": "nothing: samples and verdicts are always kept",
        "gguf_file": "model=FOLDER, which `python -m evals.gguf FILE FOLDER` writes from a GGUF file",
        "save_details": "nothing: samples and verdicts are always kept",
        "use_cache": "nothing: the same command resumes, and keeps what was sampled",
        "cache_requests": "nothing: the same command resumes, and keeps what was sampled",
        "predict_only": "nothing: samples are always graded. rlvr grade FOLDER grades them again",
        "scorer": "extraction=POLICY (rlvr list what=policies)",
        "metric_list": "nothing: avg@n is always reported. ks=[K,...] adds pass@k and maj@k",
        "trust_remote_code": "nothing: the code of a model or a data set is never run",
    },
    TRAIN: {
        "lr": "learning_rate=X",
        "beta": "kl_beta=X",
        "kl_coef": "kl_beta=X",
        "epsilon": "clip_low=X clip_high=X",
        "epsilon_high": "clip_high=X",
        "clip_ratio": "clip_low=X clip_high=X",
        "num_generations": "group_size=N",
        "num_rollouts": "group_size=N",
        "rollout_n": "group_size=N",
        "train_batch_size": "prompts_per_rollout=N",
        "global_batch_size": "prompts_per_rollout=N (each with group_size=N responses)",
        "mini_batch": "updates_per_rollout=N: a rollout's responses are split into N updates",
        "mini_batch_size": "updates_per_rollout=N: a rollout's responses are split into N updates",
        "ppo_mini_batch_size": "updates_per_rollout=N: a rollout's responses are split into N updates",
        "per_device_train_batch_size": "hardware.micro_batch=N",
        "gradient_accumulation_steps": "prompts_per_rollout=N and updates_per_rollout=N",
        "max_completion_length": "max_completion_tokens=N",
        "max_response_length": "max_completion_tokens=N",
        "max_prompt_length": "max_prompt_tokens=N",
        "temperature": "rollout_temperature=X",
        "top_p": "rollout_top_p=X",
        "num_train_epochs": "epochs=X",
        "num_epochs": "epochs=X",
        "total_epochs": "epochs=X",
        "max_new_tokens": "max_completion_tokens=N",
        "loss_type": "aggregation=token_mean|sequence_mean|prompt_mean|sequence_sum|fixed_length, or like=trl",
        "loss_agg_mode": "aggregation=token_mean|sequence_mean|prompt_mean|sequence_sum|fixed_length, or like=verl",
        "scale_rewards": "grpo.std=sample|none",
        "num_iterations": "nothing: each response has one update. updates_per_rollout=N splits a rollout into N",
        "ppo_epochs": "nothing: each response has one update. updates_per_rollout=N splits a rollout into N",
        "steps": "max_steps=N",
        "total_steps": "max_steps=N",
        "total_training_steps": "max_steps=N",
        "warmup_steps": "warmup_ratio=X, of all steps",
        "lr_warmup_steps_ratio": "warmup_ratio=X, of all steps",
        "scheduler": "lr_schedule=NAME",
        "lr_scheduler_type": "lr_schedule=NAME",
        "grad_clip": "max_grad_norm=X",
        "clip_grad": "max_grad_norm=X",
        "kl_loss_coef": "kl_beta=X",
        "entropy_coeff": "entropy_coefficient=X",
        "lora_r": "lora_rank=N",
        "bf16": "precision=bfloat16",
        "fp16": "precision=float16",
        "dtype": "precision=bfloat16|float16|float32",
        "gpus": "hardware=NAME, as h100x8 is eight GPUs",
        "num_gpus": "hardware=NAME, as h100x8 is eight GPUs",
        "n_gpus_per_node": "hardware=NAME, as h100x8 is eight GPUs",
        "nnodes": "hardware=NAME, as h100x32 is four machines of eight GPUs",
        "num_processes": "hardware=NAME, as h100x8 is eight GPUs",
        "seed": "seeds=[N]",
        "model_name_or_path": "base_model=PATH",
        "gguf_file": "base_model=FOLDER, which `python -m evals.gguf FILE FOLDER` writes from a GGUF file",
        "train_files": "data=FILE",
        "output_dir": "the environment variable RLVR_HOME",
        "vllm_gpu_memory_utilization": "hardware.vllm_gpu_memory=X",
        "save_freq": "hardware.save_every=N",
        "save_steps": "hardware.save_every=N",
        "test_freq": "eval.every=N",
        "reward_funcs": "rewards=FILE.py:FUNCTION",
    },
    ("audit",): dict.fromkeys(("claimed", "claim", "score", "published", "reported", "number"), "printed=X"),
}
OF_THE_PROTOCOL = ("tasks", "limit", "max_samples", "num_samples", "repeats", "num_fewshot", "num_fewshots")
"""What a training is told of its evaluation."""
VERL = ("actor_rollout_ref.", "algorithm.", "critic.", "data.", "trainer.")  # groups of its options
RUNNERS = ("hf", "hf-auto", "vllm", "sglang", "accelerate", "openai", "local-completions", "local-chat-completions",
           "openai-completions", "openai-chat-completions")  # fmt: skip
"""What `--model` of lm-eval, and the first word of lighteval, may be: who runs the model."""


def renamed(name: str, option: str, runner: str = "") -> str | None:
    """The option to write for one that a command had before, or that other tools have, or None: it is not known so.

    Args:
        runner: what follows `--model`.
    """
    if now := MOVED.get((name, option)):
        return f"the command rlvr {now}, see rlvr help {now}"
    if name in MEASURE and option == "model" and runner.startswith("openai/"):
        return f"model={runner[7:]} engine=openai engine.url=URL, a server's. Or a hub id, model={runner}"
    if name in MEASURE and option == "model" and runner in RUNNERS:
        return "model=PATH, a folder or a hub id OWNER/NAME, and engine=transformers|vllm|openai"
    if option.startswith(VERL):
        option = option.rpartition(".")[2]
    for commands, other_names in ELSEWHERE.items():
        if name in commands and option in other_names:
            return other_names[option]
    if name in TRAIN and option in OF_THE_PROTOCOL:
        return f"protocol.{ELSEWHERE[MEASURE][option]}"
    return None
