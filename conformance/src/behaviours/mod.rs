//! The behaviours, by what they are about.

// The list below makes one test of every function here; a name is its documentation.
#![allow(missing_docs)]

pub mod activating;
pub mod auditing;
pub mod claiming;
pub mod copying;
pub mod discovering;
pub mod lost_commits;
pub mod proposing;
pub mod publishing;
pub mod races;
pub mod reading;
pub mod settling;
pub mod spaces;
pub mod together;
pub mod vector_spaces;

mod prelude {
    pub(super) use serde_json::{Value, json};
    pub(super) use space_profiles_core::*;

    pub(super) use crate::harness::*;
}

use crate::harness::{Fixture, StoreBuilder};

macro_rules! suite {
    ($d:tt $($module:ident { $($name:ident,)* })*) => {
        /// Runs every behaviour on a fresh store each, one after the other.
        ///
        /// # Panics
        ///
        /// The first behaviour that the store does not show.
        pub async fn test_all(builder: &dyn StoreBuilder) {
            $($($module::$name(&Fixture::new(builder).await).await;)*)*
        }

        /// Makes a test of every behaviour, on a fresh store each.
        ///
        /// The expression is a [`StoreBuilder`](crate::StoreBuilder); it is evaluated once for each test.
        #[macro_export]
        macro_rules! conformance_tests {
            ($d builder:expr) => {
                fn store_builder() -> impl $d crate::StoreBuilder {
                    $d builder
                }

                $(mod $module {
                    $(
                        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                        async fn $name() {
                            let fixture = $d crate::Fixture::new(&super::store_builder()).await;
                            $d crate::$module::$name(&fixture).await;
                        }
                    )*
                })*
            };
        }
    };
}

suite! {
    $
    proposing {
        a_proposal_becomes_a_candidate_with_its_digests_and_columns,
        an_invalid_snapshot_is_refused_with_every_issue_before_anything_else,
        g3_15_a_proposal_without_dimension_is_refused,
        g2_01_g2_02_g2_05_g2_08_capabilities_that_a_store_could_not_keep_are_refused,
        g2_03_g2_06_numbers_and_key_order_survive_the_store,
        a_proposal_repeated_after_a_lost_reply_is_answered_as_before,
        another_subject_or_content_is_no_repeat,
        a_space_must_exist_and_be_writable,
        g4_08_a_second_candidate_is_refused,
        g4_10_numbers_have_no_gap_and_are_never_reused,
        the_numbers_end_with_a_refusal,
        the_same_configuration_is_no_change_unless_that_is_wanted,
        a_corrupt_active_revision_counts_as_a_different_configuration,
        a_later_check_of_the_same_model_is_no_change,
        a_legacy_profile_is_adopted_first_unless_that_is_overridden,
        a_number_is_filled_in_and_a_repeat_recognised_by_its_id,
        g4_19_what_was_stored_does_not_change_with_the_callers_values,
    }
    vector_spaces {
        a_typed_capability_proves_the_vector_space_of_version_1_or_2,
        a_once_active_revision_proves_a_restored_vector_space,
        a_vector_space_is_never_shared_by_two_models,
        g3_36_a_typed_capability_must_agree_with_its_snapshot,
    }
    activating {
        the_first_activation_creates_the_head,
        activating_supersedes_the_former_and_moves_the_head,
        g4_03_a_stale_expectation_is_refused_and_writes_nothing,
        g4_05_a_failed_revision_is_not_activated,
        g4_06_a_superseded_revision_is_not_activated_again,
        what_does_not_exist_is_not_activated,
        g4_12_an_activation_repeated_after_a_lost_reply_is_answered_as_before,
        g6_17_a_corrupt_candidate_is_not_activated,
        a_corrupt_active_revision_does_not_stop_its_successor,
        a_broken_head_refuses_changes,
        both_kinds_are_activated_together,
        both_kinds_or_none_and_the_first_refusal_names_its_kind,
    }
    publishing {
        publishing_proposes_and_activates_in_one_write,
        publishing_checks_the_head_before_the_candidate_and_the_number,
        restoring_appends_and_activates_an_earlier_configuration,
        somebody_elses_restoration_or_publication_is_no_replay,
        restoring_is_refused_in_the_order_of_its_checks,
        a_corrupt_revision_is_not_restored,
        a_compare_and_swap_is_not_fooled_by_a_value_that_came_back,
        g4_11_failing_twice_keeps_the_first_reason,
        only_a_candidate_can_be_failed,
        a_corrupt_candidate_can_be_failed,
    }
    reading {
        a_history_is_read_in_pages,
        what_is_not_there_is_not_found,
        g6_17_a_corrupt_row_is_an_entry_of_its_own,
        g2_05_g2_19_rows_that_hold_no_readable_object_are_corrupt,
        a_row_digested_in_the_legacy_key_order_is_read,
        the_profile_of_a_moment_is_found,
        two_revisions_are_compared,
        g4_18_scopes_and_tenants_do_not_see_each_other,
        times_of_a_scope_never_run_backwards,
        g2_12_times_are_kept_to_the_microsecond,
    }
    spaces {
        adding_a_space_twice_is_a_replay_unless_its_name_differs,
        a_name_that_does_not_fit_every_store_is_refused,
        spaces_are_listed_in_pages_and_by_tenant,
        deleting_a_space_removes_all_that_belongs_to_it_and_nothing_else,
        a_manifest_is_replaced_by_a_higher_version_only,
        a_manifest_joins_a_space_that_exists,
    }
    discovering {
        legacy_profiles_are_queued_once_with_their_source,
        a_changed_source_is_queued_beside_the_old_one,
        what_cannot_be_adopted_is_skipped_with_a_reason,
        spaces_with_a_head_or_not_writable_or_without_profile_are_passed_over,
        discovery_walks_in_pages_and_within_its_filter,
    }
    claiming {
        a_claim_leases_due_rows_to_a_worker,
        g5_03_g5_13_an_expired_lease_is_claimed_from_its_very_end_on,
        g5_01_g5_05_a_worker_that_lost_its_lease_changes_nothing,
        g5_04_an_expired_lease_is_not_revived,
        g5_08_only_the_stores_clock_decides_about_leases,
        g5_10_a_row_whose_attempts_are_spent_is_failed_by_the_next_claim,
        g5_12_spent_rows_do_not_use_up_the_batch,
        a_claim_fails_spent_rows_within_a_bound_of_their_own,
        expired_rows_come_before_queued_ones_each_in_order,
        g5_20_a_retried_row_takes_its_place_by_due_time,
        a_claim_keeps_to_its_filter,
        g2_13_leases_are_compared_as_times_and_not_as_texts,
    }
    settling {
        g5_14_heartbeats_keep_a_lease_and_leave_the_fence,
        completing_installs_revision_and_head,
        g3_06_adoption_trims_identifiers_and_carries_the_observed_dimension,
        a_retrieval_profile_is_installed,
        a_space_that_is_not_writable_fails_the_row,
        a_missing_manifest_fails_the_row,
        g5_23_a_changed_source_fails_the_row,
        an_existing_revision_without_head_fails_the_row,
        another_head_fails_the_row,
        g5_25_a_head_with_the_same_profile_succeeds_without_installing,
        an_invalid_profile_or_capability_fails_the_row_with_its_issues,
        a_retryable_failure_is_due_again_after_its_delay,
        delays_double_from_five_seconds_with_half_of_it_jitter,
        a_final_failure_is_failed_and_replayed,
        g5_16_a_release_hands_the_row_back_and_refunds_the_attempt,
        one_commands_work_is_never_taken_for_anothers,
        a_fault_elsewhere_in_the_metadata_does_not_matter,
        g5_22_only_a_failed_backfill_is_retried,
        failed_backfills_are_retried_together_by_code_and_only_the_newest,
        backfills_are_counted_listed_and_pruned,
    }
    together {
        rows_completed_together_are_installed_each,
        both_kinds_of_a_space_are_completed_together,
        each_row_of_several_has_an_answer_of_its_own,
        of_two_rows_of_a_scope_one_is_installed_together_with_others,
        a_row_that_went_stale_leaves_the_others_alone_and_is_decided_again,
        an_id_that_is_taken_leaves_nothing_of_its_row_behind,
        what_a_lost_reply_was_about_is_recognised_row_by_row,
        rows_that_many_complete_together_are_installed_once,
    }
    races {
        g4_01_of_many_that_activate_exactly_one_does_it,
        of_many_that_publish_different_snapshots_exactly_one_wins,
        of_many_that_propose_exactly_one_gets_the_number,
        numbers_filled_in_at_the_same_time_are_all_different,
        g4_15_activation_and_deletion_leave_no_head_without_a_space,
        g5_07_two_workers_never_get_the_same_row,
        a_completion_that_many_try_installs_once,
    }
    lost_commits {
        g6_07_a_commit_whose_reply_was_lost_counts_as_done,
        g6_07_a_commit_that_did_not_happen_happens_now,
        a_commit_that_is_still_under_way_when_it_is_repeated_counts_as_done,
        after_a_lost_reply_a_superseded_activation_counts_as_done,
        after_a_lost_reply_a_superseded_publication_counts_as_done,
        after_a_lost_reply_a_superseded_restoration_counts_as_done,
        after_a_lost_reply_somebody_elses_work_is_still_a_conflict,
        the_other_commands_recognise_their_work_after_a_lost_reply_too,
        a_retry_whose_reply_was_lost_counts_as_done,
        a_number_that_was_taken_meanwhile_is_filled_in_anew,
        a_store_that_stays_silent_is_an_unknown_outcome,
    }
    auditing {
        sound_rows_have_no_finding,
        the_audit_walks_every_space_once,
        a_page_of_the_audit_ends_before_it_is_large,
        damage_within_a_row_is_found,
        g4_02_damage_between_rows_is_found,
        every_contradiction_of_a_row_is_found,
        a_history_without_a_head_is_found,
        damage_in_the_ledger_is_found,
        times_out_of_order_between_rows_are_only_warnings,
    }
    copying {
        a_store_is_copied_there_and_back_to_the_last_column,
        a_running_backfill_arrives_queued_with_its_attempt_refunded,
        a_row_digested_in_the_legacy_key_order_keeps_its_digest,
        a_copied_space_must_be_new,
        a_copied_scope_must_be_empty_and_have_a_space,
        an_id_that_is_taken_elsewhere_leaves_nothing_behind,
        what_differs_stays_as_it_is_and_the_rest_is_copied,
        a_space_that_nobody_knows_has_no_content,
        of_many_that_copy_a_scope_exactly_one_writes_it,
    }
}
