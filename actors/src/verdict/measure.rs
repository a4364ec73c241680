//! From a measurement to a score.
//!
//! Evaluators measure and never score; the binding's `measure` says what a
//! measurement is worth. The mapping is exact: a score is a fraction of integers
//! until the very end, when it is rounded *down* to whole parts per million, so
//! that a score never reads as reached when it is not.
//!
//! `not: true` turns the score round: it becomes 1 - score, before rounding. For a
//! yes or no that swaps pass and fail; for a number or a label it means "the less of
//! it the better", and with the default `pass_at` of 1.0 the binding passes only
//! where the score was 0. An outcome without a score (abstained, errored) has
//! nothing to turn round and stays what it is.

use tribunal_schema::evaluation::{EvaluationError, EvaluationErrorClass, Measurement, Outcome, Report, Said};
use tribunal_schema::json::Decimal;
use tribunal_schema::profile::{Binding, Measure, Point};
use tribunal_schema::units::ScorePpm;

/// What a binding says of an answer, given what its evaluator returned.
///
/// A measurement that its `measure` gives no score - a label nobody listed, a number
/// under a mapping of labels - breaks the contract and is errored, never clamped. A
/// question for a judge is errored too: whoever has a judge asks it first and comes
/// back with the report that its replies led to.
pub fn outcome_of(binding: &Binding, examined: Result<&Report, &EvaluationError>) -> Outcome {
    let said = match examined {
        Ok(report) => &report.said,
        Err(error) => return errored(error.class, error.message.clone()),
    };
    match said {
        Said::Measured(measurement) => measured(binding, measurement),
        Said::Abstained(reason) => Outcome::Abstained { reason: reason.clone() },
        Said::Ask(questions) => errored(
            EvaluationErrorClass::Judge,
            format!(
                "it asks a judge {} question{}, and no judge is configured",
                questions.len(),
                if questions.len() == 1 { "" } else { "s" }
            ),
        ),
    }
}

fn errored(class: EvaluationErrorClass, message: String) -> Outcome {
    Outcome::Errored { class, message }
}

fn measured(binding: &Binding, measurement: &Measurement) -> Outcome {
    let exact = match exact_score(&binding.measure, measurement) {
        Ok(exact) => exact,
        Err((class, message)) => return errored(class, message),
    };
    let score_ppm = if binding.negate { exact.negated() } else { exact }.rounded_down();
    Outcome::Measured { measurement: measurement.clone(), score_ppm, passed: score_ppm >= binding.pass_at }
}

/// A score as a fraction: `part` / `whole` parts per million, within 0 and one million.
///
/// Nothing overflows: a decimal is below 2^90, a difference of two below 2^91, and
/// a million below 2^20.
#[derive(Clone, Copy, Debug)]
struct Exact {
    part: i128,
    whole: i128,
}

const ONE_PPM: i128 = 1_000_000;

impl Exact {
    fn whole(score: ScorePpm) -> Exact {
        Exact { part: i128::from(score.ppm()), whole: 1 }
    }

    fn negated(self) -> Exact {
        Exact { part: ONE_PPM * self.whole - self.part, whole: self.whole }
    }

    fn rounded_down(self) -> ScorePpm {
        let ppm = (self.part / self.whole).clamp(0, ONE_PPM);
        ScorePpm::saturating(ppm.unsigned_abs() as u64)
    }
}

type Unscorable = (EvaluationErrorClass, String);

fn exact_score(measure: &Measure, measurement: &Measurement) -> Result<Exact, Unscorable> {
    match (measure, measurement) {
        (Measure::Direct, Measurement::Binary(yes)) => {
            Ok(Exact::whole(if *yes { ScorePpm::ONE } else { ScorePpm::ZERO }))
        }
        (Measure::Direct, Measurement::Number { value, .. }) => own_score(*value),
        (Measure::Linear { best, worst }, Measurement::Number { value, .. }) => linear(*best, *worst, *value),
        (Measure::Piecewise { points }, Measurement::Number { value, .. }) => piecewise(points, *value),
        (Measure::Thresholds { steps }, Measurement::Number { value, .. }) => {
            Ok(reached(steps, *value).map_or(Exact::whole(ScorePpm::ZERO), |step| Exact::whole(steps[step].score_ppm)))
        }
        (Measure::Labels { scores }, Measurement::Label(label)) => match scores.get(label) {
            Some(score) => Ok(Exact::whole(*score)),
            None => Err(outside(format!("it measured the label {label:?}, which its measure gives no score"))),
        },
        (Measure::Direct, Measurement::Label(_))
        | (Measure::Labels { .. }, Measurement::Binary(_) | Measurement::Number { .. })
        | (
            Measure::Linear { .. } | Measure::Piecewise { .. } | Measure::Thresholds { .. },
            Measurement::Binary(_) | Measurement::Label(_),
        ) => Err(outside(format!("it measured {}, but {}", kind(measurement), wants(measure)))),
    }
}

fn outside(message: String) -> Unscorable {
    (EvaluationErrorClass::Contract, message)
}

fn kind(measurement: &Measurement) -> &'static str {
    match measurement {
        Measurement::Binary(_) => "a yes or no",
        Measurement::Number { .. } => "a number",
        Measurement::Label(_) => "a label",
    }
}

fn wants(measure: &Measure) -> &'static str {
    match measure {
        Measure::Direct => "without a measure a yes or no, or a number from 0 to 1, is needed",
        Measure::Linear { .. } => "a linear measure needs a number",
        Measure::Piecewise { .. } => "a piecewise measure needs a number",
        Measure::Thresholds { .. } => "a measure by thresholds needs a number",
        Measure::Labels { .. } => "a measure by labels needs a label",
    }
}

/// A number within 0..=1 is its own score.
fn own_score(value: Decimal) -> Result<Exact, Unscorable> {
    let one = Decimal::from_integer(1);
    if value < Decimal::from_integer(0) || value > one {
        return Err(outside(format!("it measured {value}, and without a measure a number must be from 0 to 1")));
    }
    Ok(Exact { part: value.billionths() * ONE_PPM, whole: one.billionths() })
}

fn linear(best: Decimal, worst: Decimal, value: Decimal) -> Result<Exact, Unscorable> {
    let (best, worst, value) = (best.billionths(), worst.billionths(), value.billionths());
    if best == worst {
        let message = "its linear measure has the same value as best and as worst".to_string();
        return Err((EvaluationErrorClass::Configuration, message));
    }
    // Where best is the smaller one, both differences change their sign, and the line is the same.
    let sign = (best - worst).signum();
    let whole = (best - worst) * sign;
    let travelled = ((value - worst) * sign).clamp(0, whole);
    Ok(Exact { part: travelled * ONE_PPM, whole })
}

/// Between two points the straight line; where two points have one value, the later one from there on.
fn piecewise(points: &[Point], value: Decimal) -> Result<Exact, Unscorable> {
    let Some(first) = points.first() else {
        return Err((EvaluationErrorClass::Configuration, "its piecewise measure has no points".to_string()));
    };
    let Some(left) = reached(points, value) else {
        return Ok(Exact::whole(first.score_ppm));
    };
    let from = points[left];
    let Some(to) = points.get(left + 1) else {
        return Ok(Exact::whole(from.score_ppm));
    };
    let (low, high) = (i128::from(from.score_ppm.ppm()), i128::from(to.score_ppm.ppm()));
    let whole = to.value.billionths() - from.value.billionths();
    let travelled = value.billionths() - from.value.billionths();
    Ok(Exact { part: low * whole + (high - low) * travelled, whole })
}

/// The index of the last point that a value reaches. The point after it, if any, is
/// above the value, so that no two neighbours of a line can coincide.
fn reached(points: &[Point], value: Decimal) -> Option<usize> {
    points.iter().rposition(|point| point.value <= value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::testbed::{binding, decimal, ppm};
    use tribunal_schema::evaluation::Question;

    fn number(text: &str) -> Measurement {
        Measurement::Number { value: decimal(text), unit: None }
    }

    fn said(binding: &Binding, measurement: Measurement) -> Outcome {
        outcome_of(binding, Ok(&Report { said: Said::Measured(measurement), findings: Vec::new() }))
    }

    fn scored(measure: Measure, negate: bool, measurement: Measurement) -> Option<u32> {
        let binding = Binding { measure, negate, ..binding("b", "d") };
        match said(&binding, measurement) {
            Outcome::Measured { score_ppm, .. } => Some(score_ppm.ppm()),
            Outcome::Errored { class, .. } => {
                assert_eq!(class, EvaluationErrorClass::Contract);
                None
            }
            Outcome::Abstained { reason } => panic!("abstained: {reason}"),
        }
    }

    fn line(best: &str, worst: &str) -> Measure {
        Measure::Linear { best: decimal(best), worst: decimal(worst) }
    }

    fn points(of: &[(&str, u32)]) -> Vec<Point> {
        of.iter().map(|(value, score)| Point { value: decimal(value), score_ppm: ppm(*score) }).collect()
    }

    #[test]
    fn yes_is_one_and_no_is_zero_and_not_swaps_them() {
        for (yes, negate, score) in
            [(true, false, 1_000_000), (false, false, 0), (true, true, 0), (false, true, 1_000_000)]
        {
            assert_eq!(scored(Measure::Direct, negate, Measurement::Binary(yes)), Some(score));
        }
    }

    #[test]
    fn a_number_from_zero_to_one_is_its_own_score_and_beyond_is_errored_not_clamped() {
        for (value, score) in [
            ("-0.000000001", None),
            ("0", Some(0)),
            ("0.5", Some(500_000)),
            ("0.999999999", Some(999_999)),
            ("1", Some(1_000_000)),
            ("1.000000001", None),
        ] {
            assert_eq!(scored(Measure::Direct, false, number(value)), score, "{value}");
        }
    }

    #[test]
    fn a_line_saturates_beyond_its_ends_in_both_directions() {
        for (best, worst, value, score) in [
            ("200", "5000", "199", 1_000_000),
            ("200", "5000", "200", 1_000_000),
            ("200", "5000", "201", 999_791),
            ("200", "5000", "2600", 500_000),
            ("200", "5000", "4999", 208),
            ("200", "5000", "5000", 0),
            ("200", "5000", "5001", 0),
            ("10", "0", "-1", 0),
            ("10", "0", "2.5", 250_000),
            ("10", "0", "11", 1_000_000),
            ("-1", "-3", "-2", 500_000),
        ] {
            assert_eq!(scored(line(best, worst), false, number(value)), Some(score), "{value} from {worst} to {best}");
        }
    }

    #[test]
    fn the_largest_decimals_do_not_overflow() {
        let (most, least) = ("1000000000000000000", "-1000000000000000000");
        assert_eq!(scored(line(most, least), false, number("0")), Some(500_000));
        let curve = Measure::Piecewise { points: points(&[(least, 1_000_000), (most, 0)]) };
        assert_eq!(scored(curve, true, number("0")), Some(500_000));
    }

    #[test]
    fn not_is_taken_before_rounding_so_that_it_never_reads_as_reached() {
        assert_eq!(scored(Measure::Direct, true, number("0.000000001")), Some(999_999));
        assert_eq!(scored(line("3", "0"), false, number("1")), Some(333_333));
        assert_eq!(scored(line("3", "0"), true, number("1")), Some(666_666));
    }

    #[test]
    fn a_curve_follows_its_points_and_jumps_where_two_share_a_value() {
        let curve =
            Measure::Piecewise { points: points(&[("0", 1_000_000), ("10", 800_000), ("10", 400_000), ("20", 0)]) };
        for (value, score) in [
            ("-5", 1_000_000),
            ("0", 1_000_000),
            ("5", 900_000),
            ("10", 400_000),
            ("15", 200_000),
            ("20", 0),
            ("21", 0),
        ] {
            assert_eq!(scored(curve.clone(), false, number(value)), Some(score), "{value}");
        }
    }

    #[test]
    fn thresholds_give_the_score_of_the_highest_that_is_reached() {
        let steps = Measure::Thresholds { steps: points(&[("0.5", 300_000), ("0.8", 1_000_000)]) };
        for (value, score) in
            [("0.499999999", 0), ("0.5", 300_000), ("0.799999999", 300_000), ("0.8", 1_000_000), ("9", 1_000_000)]
        {
            assert_eq!(scored(steps.clone(), false, number(value)), Some(score), "{value}");
        }
    }

    #[test]
    fn a_label_has_its_score_and_an_unknown_one_is_errored() {
        let labels = Measure::Labels { scores: [("good".to_string(), ppm(700_000))].into() };
        let label = |name: &str| Measurement::Label(name.into());
        assert_eq!(scored(labels.clone(), false, label("good")), Some(700_000));
        assert_eq!(scored(labels.clone(), true, label("good")), Some(300_000));
        assert_eq!(scored(labels, false, label("Good")), None);
    }

    #[test]
    fn a_measurement_of_the_wrong_kind_breaks_the_contract() {
        let labels = Measure::Labels { scores: [("1".to_string(), ppm(1))].into() };
        let steps = Measure::Thresholds { steps: points(&[("0", 1)]) };
        let curve = Measure::Piecewise { points: points(&[("0", 1), ("1", 2)]) };
        let yes = Measurement::Binary(true);
        let label = Measurement::Label("1".into());
        for (measure, measurement) in [
            (Measure::Direct, label.clone()),
            (line("1", "0"), yes.clone()),
            (line("1", "0"), label.clone()),
            (curve.clone(), yes.clone()),
            (curve, label.clone()),
            (steps.clone(), yes.clone()),
            (steps, label),
            (labels.clone(), yes),
            (labels, number("1")),
        ] {
            assert_eq!(scored(measure.clone(), false, measurement), None, "{measure:?}");
        }
    }

    #[test]
    fn a_binding_passes_from_its_pass_at() {
        for (value, passed) in [("0.799999", false), ("0.8", true), ("0.800001", true)] {
            let strict = Binding { pass_at: ppm(800_000), ..binding("b", "d") };
            assert!(
                matches!(said(&strict, number(value)), Outcome::Measured { passed: p, .. } if p == passed),
                "{value}"
            );
        }
    }

    #[test]
    fn a_measure_that_cannot_measure_is_a_configuration_error() {
        for measure in [line("2", "2"), Measure::Piecewise { points: Vec::new() }] {
            let broken = Binding { measure, ..binding("b", "d") };
            let outcome = said(&broken, number("2"));
            assert!(
                matches!(outcome, Outcome::Errored { class: EvaluationErrorClass::Configuration, .. }),
                "{outcome:?}"
            );
        }
    }

    #[test]
    fn what_has_no_measurement_keeps_its_reason() {
        let negated = Binding { negate: true, ..binding("b", "d") };
        let abstained = Report { said: Said::Abstained("no expected answer".into()), findings: Vec::new() };
        assert_eq!(outcome_of(&negated, Ok(&abstained)), Outcome::Abstained { reason: "no expected answer".into() });
        let trap = EvaluationError { class: EvaluationErrorClass::Trap, message: "unreachable".into() };
        assert_eq!(
            outcome_of(&negated, Err(&trap)),
            Outcome::Errored { class: EvaluationErrorClass::Trap, message: "unreachable".into() }
        );
    }

    #[test]
    fn a_question_without_a_judge_is_errored_and_says_so() {
        let question = Question { id: "q".into(), system: None, prompt: "is it polite?".into() };
        let asks = Report { said: Said::Ask(vec![question]), findings: Vec::new() };
        assert_eq!(
            outcome_of(&binding("b", "d"), Ok(&asks)),
            Outcome::Errored {
                class: EvaluationErrorClass::Judge,
                message: "it asks a judge 1 question, and no judge is configured".into()
            }
        );
    }
}
