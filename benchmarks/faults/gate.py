"""Promises that tests of every commit hold (`nox -s tests`; tests/verl and tests/parity: `nox -s verl`)."""

from __future__ import annotations

DELIVERY = "tests/harness/runs/test_delivery.py"
STORE = "tests/harness/runs/test_store.py"
DIVERGENCE = "tests/harness/backends/test_divergence.py"
ENGINE = "tests/evals/sampling/test_engine.py"
BASES = "tests/harness/command/test_base_models.py"
ENDS = "tests/evals/sampling/test_end_tokens.py"
HELD = (
    (
        "MLflow's store fails before or after it has done the work, at any call: each point once, in order",
        f"{DELIVERY}::test_each_point_arrives_once_and_in_order_after_any_failure",
    ),
    (
        "A dead store costs a training nothing; a start says so in one line, without the password",
        f"{DELIVERY}::test_a_dead_store_does_not_slow_a_courier",
        f"{STORE}::test_a_closed_port_is_named_without_the_password",
        f"{STORE}::test_a_silent_server_is_given_up",
    ),
    (
        "A run that the server made before it answered 500 is not made twice",
        "tests/harness/runs/test_one_run.py::test_a_run_is_created_once",
    ),
    (
        "A training in several processes on a CPU loads its optimiser when it resumes",
        "tests/harness/backends/test_numbered_cpu.py::test_a_state_is_loaded_to_a_numbered_cpu",
    ),
    ("A run that never began leaves nothing in MLflow", f"{DELIVERY}::test_a_run_that_never_began_is_not_delivered"),
    (
        "A store whose writer was killed inside a transaction is rolled back and used",
        f"{STORE}::test_what_a_killed_process_left_half_written_is_rolled_back",
    ),
    (
        "A lost store is filled again; a job killed before its end was told is told as finished",
        "tests/harness/jobs/test_run.py::test_a_lost_store_is_filled_again",
    ),
    (
        "The same job twice at once: a sentence for the second",
        "tests/harness/jobs/test_run.py::test_two_processes_do_not_share_a_job",
    ),
    (
        "A full disk is named, and the run resumes",
        "tests/harness/runs/test_disk.py::test_a_full_disk_is_named",
        "tests/verl/test_full_disk.py::test_a_full_disk_is_named_and_the_run_resumes_from_the_finished_checkpoint",
    ),
    (
        "NaN logits, gradients, weights, rewards stop a training and are recorded; nothing of it is evaluated",
        f"{DIVERGENCE}::test_a_fault_in_a_grpo_step_stops_there",
        f"{DIVERGENCE}::test_a_weight_that_becomes_nan_is_never_saved",
        f"{DIVERGENCE}::test_a_diverged_job_is_recorded_and_not_evaluated",
    ),
    (
        "Out of memory, or a reward that raises, passes as itself; training resumes from the last checkpoint",
        f"{DIVERGENCE}::test_an_error_inside_a_step_passes_as_itself_and_costs_only_that_step",
    ),
    (
        "An output of the model that is not finite ends an evaluation; token 0 is never sampled for it",
        f"{ENGINE}::test_logits_that_overflow_are_never_token_zero",
        f"{ENGINE}::test_an_output_that_is_not_finite_stops_at_its_token",
    ),
    (
        "A checkpoint without a tokenizer, or whose files name no end token that its vocabulary holds, is refused by "
        "name",
        f"{ENDS}::test_a_model_that_names_none_is_refused_before_anything_is_sampled",
        f"{ENDS}::test_an_end_token_outside_the_vocabulary_is_none",
        f"{ENDS}::test_a_model_without_a_tokenizer_is_refused_by_name",
    ),
    (
        "A request to stop that reaches the grading processes too (Ctrl-C at a terminal, Slurm) costs no verdict, nor "
        "does one that is killed while it waits",
        "tests/evals/grading/test_killed_workers.py::test_a_signal_to_every_process_costs_no_verdict",
        "tests/evals/grading/test_killed_workers.py::test_a_worker_killed_while_it_waits_costs_no_verdict",
    ),
    (
        "A grading process whose parent was killed ends, at the latest after another minute of a processor",
        "tests/evals/grading/test_killed_workers.py::test_a_comparison_whose_parent_was_killed_ends_by_itself",
    ),
    (
        "What is held of a graded file grows with its different answers, not with its rows",
        "tests/evals/answer_files/test_flat_memory.py::test_more_rows_of_the_same_answers_hold_no_more_memory",
        "tests/evals/stats/test_counted.py::test_counts_score_as_their_rows",
    ),
    (
        "A killed evaluation resumes where it was",
        "tests/evals/sampling/test_evaluate.py::test_a_killed_evaluation_resumes_where_it_was",
        "tests/evals/sampling/test_evaluate.py::test_a_real_kill",
    ),
    (
        "veRL: a killed worker, a killed command: it resumes, and no process is left",
        "tests/verl/test_runs.py::test_grpo_learns_and_resumes_after_a_worker_was_killed",
        "tests/verl/test_runs.py::test_a_reference_is_reset_and_kept_over_a_kill",
        "tests/verl/test_runs.py::test_a_killed_command_leaves_no_process",
    ),
    (
        "Without a sandbox no program of a model runs",
        "tests/evals/code_execution/test_script_sandbox.py::test_no_sandbox_no_program",
    ),
    (
        "Text of a model stays text in the report",
        "tests/harness/report/test_page.py::test_hostile_text_adds_no_element_and_no_attribute",
    ),
    (
        "Text of a model is shown on a terminal, not obeyed",
        "tests/harness/cli/test_inert.py::test_nothing_that_a_terminal_obeys_is_left",
        "tests/harness/cli/test_inert.py::test_a_graded_answer_cannot_clear_the_screen",
    ),
    (
        "No user and no password of the tracking server in the report's note and links",
        "tests/harness/report/test_report_data.py::test_note_and_links_have_no_user_and_no_password",
    ),
    (
        "No source file unpickles, builds objects from YAML or trusts a model's code",
        "tests/test_trust.py::test_no_file_runs_code_that_it_reads",
    ),
    (
        "A base model's folder without weights, tokenizer or a chat template that renders the training's and the "
        "evaluation's prompts is named before the start",
        f"{BASES}::test_what_a_folder_lacks_is_named",
        f"{BASES}::test_a_template_that_refuses_a_system_message",
    ),
    (
        "`rlvr eval` started again samples nothing and reports the same from its verdicts",
        "tests/harness/cli/test_eval_command.py::test_the_same_command_again_reads_its_verdicts",
    ),
    (
        "An odd key or value on the command line is refused or fine, never a traceback (3,200 cases)",
        "tests/harness/command/test_fuzz.py::test_any_argument_parses_or_is_refused",
        "tests/harness/command/test_fuzz.py::test_any_value_of_any_key_resolves_or_is_refused",
    ),
)
NOT_TRIED = (
    "veRL with the random and chosen kills above: `nox -s faults -- verl` does it. On 2026-11-22 "
    "it came as far as the signals: about 20 processes shared the two cores; starts of Ray took up to ten "
    "minutes, and some were given up after its own limit of 30 s, or for want of 9 GiB of free memory. Kills are only "
    "those of the tests named here.",
    "A training whose address space has no room at all (a limit of 0 MiB beyond what it has): tried once; Python's "
    "start of a thread waits for ever for one that died of it, so that the command hangs until it is killed.",
    "A Ray replica on another machine that is killed at work. On one machine "
    "`tests/evals/sampling/test_ray.py::test_a_killed_replica_starts_again_and_loses_nothing` passed on 2026-11-22; it "
    "is skipped where Ray is not installed.",
    "Known vulnerabilities of dependencies: no advisory database can be reached ([licences](licences.md)).",
)


def lines() -> list[str]:
    found = [
        "",
        "## tests",
        "",
        "Held by tests of every commit (`nox -s tests`); those in tests/verl by `nox -s verl`.",
        "",
        "| promise | test |",
        "| --- | --- |",
    ]
    found += [f"| {promise} | {', '.join(f'`{test}`' for test in tests)} |" for promise, *tests in HELD]
    return [*found, "", "## not tried", "", *(f"- {text}" for text in NOT_TRIED)]
