//! The one number that a script reads.

use tribunal_schema::score::Verdict;
use tribunal_schema::view::RunStatus;

/// The exit code of a command that ends with this run:
///
/// | code | when |
/// |---|---|
/// | 0 | pass |
/// | 2 | fail |
/// | 3 | inconclusive |
/// | 4 | no verdict: cancelled, or not finished yet |
/// | 1 | no verdict: the run failed, so something must be repaired before it is tried again |
///
/// A verdict decides alone: also of a run whose blobs went to retention since.
pub const fn exit_code(status: RunStatus, verdict: Option<Verdict>) -> u8 {
    match (verdict, status) {
        (Some(Verdict::Pass), _) => 0,
        (Some(Verdict::Fail), _) => 2,
        (Some(Verdict::Inconclusive), _) => 3,
        (None, RunStatus::Failed) => 1,
        (
            None,
            RunStatus::Creating
            | RunStatus::Running
            | RunStatus::Paused
            | RunStatus::Halted
            | RunStatus::Completed
            | RunStatus::Cancelled
            | RunStatus::Retired,
        ) => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verdict_has_its_code_whatever_came_later() {
        for status in [RunStatus::Completed, RunStatus::Retired] {
            assert_eq!(exit_code(status, Some(Verdict::Pass)), 0);
            assert_eq!(exit_code(status, Some(Verdict::Fail)), 2);
            assert_eq!(exit_code(status, Some(Verdict::Inconclusive)), 3);
        }
    }

    #[test]
    fn without_a_verdict_a_run_is_incomplete_unless_it_could_not_be_carried_out() {
        for status in
            [RunStatus::Creating, RunStatus::Running, RunStatus::Paused, RunStatus::Halted, RunStatus::Cancelled]
        {
            assert_eq!(exit_code(status, None), 4, "{status:?}");
        }
        assert_eq!(exit_code(RunStatus::Failed, None), 1);
    }
}
