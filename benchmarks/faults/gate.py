"""Promises that the tests check at every commit (`nox -s tests`; tests/verl and tests/parity: `nox -s verl`)."""

from __future__ import annotations

DELIVERY = "tests/harness/runs/test_delivery.py"
STORE = "tests/harness/runs/test_store.py"
DIVERGENCE = "tests/harness/backends/test_divergence.py"
ENGINE = "tests/evals/sampling/test_engine.py"
BASES = "tests/harness/command/test_base_models.py"
ENDS = "tests/evals/sampling/test_end_tokens.py"
HELD = (
    (
        "If MLflow's store fails at any call, before or after doing the work, each point arrives once, in order",
        f"{DELIVERY}::test_each_point_arrives_once_and_in_order_after_any_failure",
    ),
    (
        "An unreachable store does not slow training; at the start, one line reports it, without the password",
        f"{DELIVERY}::test_a_dead_store_does_not_slow_a_courier",
        f"{STORE}::test_a_closed_port_is_named_without_the_password",
        f"{STORE}::test_a_silent_server_times_out",
    ),
    (
        "If the server creates a run and then answers 500, the run is not created twice",
        "tests/harness/runs/test_one_run.py::test_a_run_is_created_once",
    ),
    (
        "A training in several processes on a CPU loads its optimiser when it resumes",
        "tests/harness/backends/test_numbered_cpu.py::test_a_state_is_loaded_to_a_numbered_cpu",
    ),
    (
        "A run that never started leaves nothing in MLflow",
        f"{DELIVERY}::test_a_run_that_never_started_is_not_delivered",
    ),
    (
        "A store whose writer was killed inside a transaction is rolled back and used",
        f"{STORE}::test_an_unfinished_transaction_of_a_killed_process_is_rolled_back",
    ),
    (
        "A store that fails during `rlvr sync` is reported in one line (exit code 1); the next one sends the rest",
        "tests/harness/runs/test_sync_command.py"
        "::test_a_store_that_fails_on_the_way_is_named_and_the_rest_is_sent_later",
    ),
    (
        "A lost store is filled again; a finished job that was killed before it reported its end is reported as "
        "finished",
        "tests/harness/jobs/test_run.py::test_a_lost_store_is_filled_again",
    ),
    (
        "If the same job starts twice at once, the second stops with one sentence",
        "tests/harness/jobs/test_run.py::test_two_processes_do_not_share_a_job",
    ),
    (
        "A full disk is reported as such, and the run resumes",
        "tests/harness/runs/test_disk.py::test_a_full_disk_is_named",
        "tests/verl/test_full_disk.py::test_a_full_disk_is_named_and_the_run_resumes_from_the_finished_checkpoint",
    ),
    (
        "NaN in logits, gradients, weights or rewards stops a training and is recorded; the model is not evaluated",
        f"{DIVERGENCE}::test_a_fault_in_a_grpo_step_stops_the_training",
        f"{DIVERGENCE}::test_a_weight_that_becomes_nan_is_never_saved",
        f"{DIVERGENCE}::test_a_diverged_job_is_recorded_and_not_evaluated",
    ),
    (
        "Out of memory, or an exception in a reward, is shown unchanged; training resumes from the last checkpoint",
        f"{DIVERGENCE}::test_an_error_inside_a_step_is_unchanged_and_costs_only_that_step",
    ),
    (
        "A model output that is not finite stops an evaluation; token 0 is never sampled in its place",
        f"{ENGINE}::test_logits_that_overflow_are_never_token_zero",
        f"{ENGINE}::test_an_output_that_is_not_finite_stops_at_its_token",
    ),
    (
        "A checkpoint without a tokenizer, or without an end token in its vocabulary, is refused with its name",
        f"{ENDS}::test_a_model_that_names_none_is_refused_before_anything_is_sampled",
        f"{ENDS}::test_an_end_token_outside_the_vocabulary_is_none",
        f"{ENDS}::test_a_model_without_a_tokenizer_is_refused_by_name",
    ),
    (
        "No verdict is lost when a stop signal also reaches the grading processes (Ctrl-C at a terminal, Slurm), or "
        "when one of them is killed while it waits",
        "tests/evals/grading/test_killed_workers.py::test_a_signal_to_every_process_costs_no_verdict",
        "tests/evals/grading/test_killed_workers.py::test_a_worker_killed_while_it_waits_costs_no_verdict",
    ),
    (
        "A grading process whose parent was killed ends after at most one more minute of CPU time",
        "tests/evals/grading/test_killed_workers.py::test_a_comparison_whose_parent_was_killed_ends_by_itself",
    ),
    (
        "Memory for grading a file, and for its tables, grows with its distinct answers, not with its rows",
        "tests/evals/answer_files/test_flat_memory.py::test_more_rows_of_the_same_answers_hold_no_more_memory",
        "tests/evals/stats/test_counted.py::test_counts_score_as_their_rows",
        "tests/evals/stats/test_counted.py::test_files_read_in_parts_score_and_compare_as_their_rows",
    ),
    (
        "A killed evaluation resumes where it stopped",
        "tests/evals/sampling/test_evaluate.py::test_a_killed_evaluation_resumes_where_it_stopped",
        "tests/evals/sampling/test_evaluate.py::test_a_real_kill",
    ),
    (
        "veRL: after a killed worker or a killed command it resumes, and no process is left",
        "tests/verl/test_runs.py::test_grpo_learns_and_resumes_after_a_worker_was_killed",
        "tests/verl/test_runs.py::test_a_reference_is_reset_and_kept_over_a_kill",
        "tests/verl/test_runs.py::test_a_killed_command_leaves_no_process",
    ),
    (
        "Without a sandbox, no program that a model wrote is run",
        "tests/evals/code_execution/test_script_sandbox.py::test_without_a_sandbox_no_program_runs",
    ),
    (
        "A model's text stays plain text in the report",
        "tests/harness/report/test_page.py::test_hostile_text_adds_no_element_and_no_attribute",
    ),
    (
        "Control sequences in a model's text are shown on a terminal, not executed",
        "tests/harness/cli/test_inert.py::test_no_control_sequence_is_left",
        "tests/harness/cli/test_inert.py::test_a_graded_answer_cannot_clear_the_screen",
    ),
    (
        "The report's note and links, and what MLflow prints, contain no user and no password of the tracking server",
        "tests/harness/report/test_report_data.py::test_note_and_links_have_no_user_and_no_password",
        f"{STORE}::test_mlflow_prints_no_address_with_a_password",
    ),
    (
        "No source file unpickles data, builds objects from YAML or trusts the code in a model folder",
        "tests/test_trust.py::test_no_file_runs_code_that_it_reads",
    ),
    (
        "A base model's folder without weights, without a tokenizer, or with a chat template that cannot render the "
        "prompts of training and evaluation is named before the start",
        f"{BASES}::test_what_a_folder_lacks_is_named",
        f"{BASES}::test_a_template_that_refuses_a_system_message",
    ),
    (
        "`rlvr eval`, started again, samples nothing and reports the same scores from its verdicts",
        "tests/harness/cli/test_eval_command.py::test_the_same_command_again_reads_its_verdicts",
    ),
    (
        "An odd key or value on the command line is accepted or refused, never a traceback (3,200 cases)",
        "tests/harness/command/test_fuzz.py::test_any_argument_parses_or_is_refused",
        "tests/harness/command/test_fuzz.py::test_any_value_of_any_key_resolves_or_is_refused",
    ),
)
NOT_TRIED = (
    "veRL killed at every write, as TRL above: a run of veRL takes minutes. `nox -s faults -- verl` tries five chosen "
    "moments and some random ones.",
    "A training that cannot allocate any more memory (an address space limit of 0 MiB beyond what it has). Tried "
    "once: Python waits forever for a thread that died while it started, so the command hangs until it is killed.",
    "Killing a Ray replica on another machine while it works. On one machine "
    "`tests/evals/sampling/test_ray.py::test_a_killed_replica_starts_again_and_loses_nothing` passed on 2026-11-22; it "
    "is skipped where Ray is not installed.",
    "Known vulnerabilities of dependencies: no advisory database can be reached ([licences](licences.md)).",
)


def lines() -> list[str]:
    lines_of_page = [
        "",
        "## tests",
        "",
        "The tests check these promises at every commit (`nox -s tests`; those in tests/verl with `nox -s verl`).",
        "",
        "| promise | test |",
        "| --- | --- |",
    ]
    lines_of_page += [f"| {promise} | {', '.join(f'`{test}`' for test in tests)} |" for promise, *tests in HELD]
    return [*lines_of_page, "", "## not tried", "", *(f"- {text}" for text in NOT_TRIED)]
