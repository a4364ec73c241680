//! The result digest: one number for "the same results".
//!
//! Two runs have equal digests if and only if every execution ended alike, with the
//! same score. What may differ between equal runs - ids of runs and attempts, how
//! cases were cut into chunks, how often something was tried, when it happened -
//! does not enter it.
//!
//! The digest is SHA-256 over UTF-8 lines, each ended by a line feed. The first is
//! `tribunal-result/1`. Then one JSON array without spaces per execution, in the
//! order of the dataset and then of the repeats:
//!
//! ```text
//! ["refund-7",0,"passed",950000]
//! ["refund-7",1,"errored",null]
//! ["refund-8",0,"missing",null]
//! ```
//!
//! case id, repeat from 0, outcome, score in parts per million or `null`. JSON keeps
//! any case id unambiguous, and anyone can make the digest again with a script.

use tribunal_schema::digest::{Digest, Digester};
use tribunal_schema::ids::ExecutionKey;
use tribunal_schema::score::Judgment;

const FORMAT: &str = "tribunal-result/1\n";

/// The result digest under construction. Holds no results: memory does not grow.
#[derive(Clone)]
pub struct ResultDigest {
    digester: Digester,
    last: Option<ExecutionKey>,
}

/// An execution was recorded at or before the one recorded last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{next} was recorded after {last}: results are digested in the order of the dataset, each once")]
pub struct OutOfOrder {
    /// What was recorded last.
    pub last: ExecutionKey,
    /// What should have come before it.
    pub next: ExecutionKey,
}

impl Default for ResultDigest {
    fn default() -> ResultDigest {
        let mut digester = Digester::default();
        digester.update(FORMAT.as_bytes());
        ResultDigest { digester, last: None }
    }
}

impl ResultDigest {
    /// Records the next execution; `None` where it was never settled. The caller
    /// records every planned execution, by case and then by repeat.
    ///
    /// # Errors
    /// [`OutOfOrder`], a bug of the caller; the digest is as it was.
    pub fn record(&mut self, next: ExecutionKey, case_id: &str, judgment: Option<&Judgment>) -> Result<(), OutOfOrder> {
        if let Some(last) = self.last.filter(|last| *last >= next) {
            return Err(OutOfOrder { last, next });
        }
        self.last = Some(next);
        self.digester.update(result_line(case_id, next.repeat, judgment).as_bytes());
        Ok(())
    }

    /// The digest of everything recorded.
    pub fn finish(self) -> Digest {
        self.digester.finish()
    }
}

/// The line of one execution, with its line feed.
pub fn result_line(case_id: &str, repeat: u32, judgment: Option<&Judgment>) -> String {
    let outcome = judgment.map_or("missing", |judgment| judgment.outcome.name());
    let score_ppm = judgment.and_then(|judgment| judgment.score_ppm).map(|score| score.ppm());
    let mut line = serde_json::to_string(&(case_id, repeat, outcome, score_ppm)).expect("texts and integers are JSON");
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::testbed::{ERRORED, End, FAILED, MISSING, PASSED};
    use tribunal_schema::score::ExecutionOutcome;

    fn digest(of: &[(u32, &str, u32, End)]) -> Digest {
        let mut digest = ResultDigest::default();
        for (case, id, repeat, end) in of {
            let key = ExecutionKey { case: *case, repeat: *repeat };
            digest.record(key, id, end.judgment().as_ref()).expect("a test records in order");
        }
        digest.finish()
    }

    #[test]
    fn a_line_says_who_ended_how_and_nothing_else() {
        let nearly = End(Some(ExecutionOutcome::Failed), 949_999).judgment();
        assert_eq!(result_line("refund-7", 2, nearly.as_ref()), "[\"refund-7\",2,\"failed\",949999]\n");
        assert_eq!(result_line("a", 0, ERRORED.judgment().as_ref()), "[\"a\",0,\"errored\",null]\n");
        assert_eq!(result_line("a", 0, None), "[\"a\",0,\"missing\",null]\n");
        assert_eq!(result_line("\"\n\u{0}ü", 0, None), "[\"\\\"\\n\\u0000ü\",0,\"missing\",null]\n");
    }

    /// The value was made by `printf 'tribunal-result/1\n["a",0,"passed",1000000]\n["b",0,"missing",null]\n' | sha256sum`.
    #[test]
    fn the_format_never_changes() {
        let digest = digest(&[(0, "a", 0, PASSED), (1, "b", 0, MISSING)]);
        assert_eq!(digest.to_string(), "9d7c84ba1bf47d2122219b0ff415b83c65edce2a5f1042a260adfc98ebbe9e9b");
    }

    #[test]
    fn another_outcome_score_repeat_or_case_is_another_digest() {
        let base = digest(&[(0, "a", 0, FAILED), (1, "b", 0, PASSED)]);
        for other in [
            digest(&[(0, "a", 0, MISSING), (1, "b", 0, PASSED)]),
            digest(&[(0, "a", 0, End(Some(ExecutionOutcome::Failed), 1)), (1, "b", 0, PASSED)]),
            digest(&[(0, "a", 1, FAILED), (1, "b", 0, PASSED)]),
            digest(&[(0, "c", 0, FAILED), (1, "b", 0, PASSED)]),
            digest(&[(0, "a", 0, FAILED)]),
            digest(&[(0, "b", 0, PASSED), (1, "a", 0, FAILED)]),
        ] {
            assert_ne!(base, other);
        }
    }

    #[test]
    fn results_out_of_order_or_twice_are_refused_and_leave_the_digest_as_it_was() {
        let key = |case, repeat| ExecutionKey { case, repeat };
        let mut digest = ResultDigest::default();
        digest.record(key(1, 1), "b", None).expect("the first is in order");
        let before = digest.clone().finish();
        for next in [key(1, 1), key(1, 0), key(0, 2)] {
            assert_eq!(digest.record(next, "b", None), Err(OutOfOrder { last: key(1, 1), next }));
        }
        assert_eq!(digest.clone().finish(), before);
        assert!(digest.record(key(2, 0), "c", None).is_ok());
    }
}
