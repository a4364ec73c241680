//! The rows of a scorecard: what was seen per dimension of each group.
//!
//! These are means for people. The verdict never rests on them; see
//! [`gate`](mod@super::gate).

use tribunal_schema::profile::Profile;
use tribunal_schema::score::Tally;
use tribunal_schema::units::ScorePpm;

/// One dimension of one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScorecardRow {
    /// The group's name.
    pub group: String,
    /// The dimension's name.
    pub dimension: String,
    /// Executions of the group.
    pub population: u64,
    /// Those among them in which the dimension has a score.
    pub scored: u64,
    /// Those among the scored in which it passes.
    pub passed: u64,
    /// Its mean score among the scored, rounded down; `None` where none is scored.
    pub mean_ppm: Option<ScorePpm>,
    /// The share of the scored that passes, rounded down; `None` where none is scored.
    pub pass_rate_ppm: Option<ScorePpm>,
}

/// One row per group and dimension, in the profile's order, also where nothing was seen.
pub fn scorecard(profile: &Profile, tally: &Tally) -> Vec<ScorecardRow> {
    let named =
        profile.groups.iter().flat_map(|group| group.dimensions.iter().map(move |dimension| (group, dimension)));
    named
        .enumerate()
        .map(|(index, (group, dimension))| {
            let sums = tally.dimensions.get(index).copied().unwrap_or_default();
            let mean_ppm = sums.score_ppm_sum.checked_div(sums.scored).map(ScorePpm::saturating);
            ScorecardRow {
                group: group.name.clone(),
                dimension: dimension.name.clone(),
                population: sums.population,
                scored: sums.scored,
                passed: sums.passed,
                mean_ppm,
                pass_rate_ppm: ScorePpm::ratio(sums.passed, sums.scored),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::testbed::{
        ERRORED, FAILED, PASSED, binding, dimension, facts, group, ppm, profile, results, tallied,
    };
    use crate::verdict::{Calls, CaseFacts, tally};

    #[test]
    fn a_row_has_the_mean_of_what_is_scored() {
        let profile = profile(1, Vec::new());
        let sums = tallied(&profile, &[&[PASSED], &[PASSED], &[FAILED], &[ERRORED]]);
        let [row] = scorecard(&profile, &sums).try_into().expect("one group with one dimension");
        assert_eq!((row.group.as_str(), row.dimension.as_str()), ("g", "d"));
        assert_eq!((row.population, row.scored, row.passed), (4, 3, 2));
        assert_eq!((row.mean_ppm, row.pass_rate_ppm), (Some(ppm(666_666)), Some(ppm(666_666))));
    }

    #[test]
    fn rows_of_several_groups_keep_their_own_numbers_and_an_empty_one_has_no_mean() {
        let mut profile = profile(1, Vec::new());
        profile.groups.insert(0, group("empty", vec![binding("x", "x")], vec![dimension("x"), dimension("y")]));
        let cases: Vec<CaseFacts<'_>> = facts(2).into_iter().map(|case| CaseFacts { group: 1, ..case }).collect();
        let sums = tally(&profile, &cases, &results(&[&[PASSED], &[PASSED]]), Calls::default());
        let rows = scorecard(&profile, &sums);
        let populations: Vec<(&str, u64, Option<ScorePpm>)> =
            rows.iter().map(|row| (row.dimension.as_str(), row.population, row.mean_ppm)).collect();
        assert_eq!(populations, [("x", 0, None), ("y", 0, None), ("d", 2, Some(ScorePpm::ONE))]);
    }
}
