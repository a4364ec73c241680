//! `measure`: how a measurement becomes a score.
//!
//! ```yaml
//! measure: direct                                          # the default
//! measure: { linear: { best: 200ms, worst: 5s } }
//! measure: { piecewise: [{ value: 0, score: 1.0 }, { value: 10, score: 0.5 }, { value: 20, score: 0 }] }
//! measure: { thresholds: [{ value: 50, score: 0.5 }, { value: 80, score: 1.0 }] }
//! measure: { labels: { good: 1.0, fair: 0.5, bad: 0 } }
//! ```
//! A value is a number, or a duration, which is its milliseconds.

use super::super::near;
use super::super::node::{Kind, Node};
use super::fields::{Field, Reading};
use super::units;
use std::collections::BTreeMap;
use tribunal_schema::json::Decimal;
use tribunal_schema::profile::{Measure, Point};

const FORMS: [&str; 4] = ["linear", "piecewise", "thresholds", "labels"];

/// Reads a measure; `Direct` in place of a wrong one.
pub fn read(reading: &mut Reading<'_>, field: Option<Field<'_>>) -> Measure {
    field.and_then(|field| form(reading, field)).unwrap_or(Measure::Direct)
}

fn form(reading: &mut Reading<'_>, field: Field<'_>) -> Option<Measure> {
    if let Kind::Text(word) = &field.node.kind {
        if word != "direct" {
            let hint = near::hint(word, ["direct"].into_iter().chain(FORMS));
            reading.refuse(
                field.node.at,
                format!("`measure`: found {word:?}, expected `direct` or a map with one form"),
                hint,
            );
        }
        return None;
    }
    let fields = reading.map(field.node, "measure", &FORMS)?;
    let given: Vec<Field<'_>> = FORMS.iter().filter_map(|form| fields.get(form)).collect();
    let [form] = given[..] else {
        if fields.all().all(|(_, field)| FORMS.contains(&field.key)) {
            let message = format!("`measure` has {} forms, expected one of {}", given.len(), FORMS.join(", "));
            reading.refuse(fields.at, message, "keep one form");
        }
        return None;
    };
    match form.key {
        "linear" => linear(reading, form),
        "piecewise" => Some(Measure::Piecewise { points: points(reading, form, 2)? }),
        "thresholds" => Some(Measure::Thresholds { steps: points(reading, form, 1)? }),
        _ => labels(reading, form),
    }
}

fn linear(reading: &mut Reading<'_>, field: Field<'_>) -> Option<Measure> {
    let fields = reading.map(field.node, "linear", &["best", "worst"])?;
    let best = reading.required(&fields, "best").and_then(|field| value(reading, field));
    let worst = reading.required(&fields, "worst").and_then(|field| value(reading, field));
    let (best, worst) = (best?, worst?);
    if best == worst {
        reading.refuse(fields.at, format!("`best` and `worst` are both {best}"), "make them different");
        return None;
    }
    Some(Measure::Linear { best, worst })
}

fn points(reading: &mut Reading<'_>, field: Field<'_>, least: usize) -> Option<Vec<Point>> {
    let items = reading.list(field)?;
    if items.len() < least || items.len() > 100 {
        let message = format!("`{}` has {} points, expected {least} to 100", field.key, items.len());
        reading.refuse(field.node.at, message, "write [{ value: 50, score: 0.5 }, { value: 80, score: 1.0 }]");
        return None;
    }
    let mut points: Vec<Point> = vec![];
    for node in items {
        let Some(point) = point(reading, node, field.key) else { continue };
        if points.iter().any(|earlier| earlier.value == point.value) {
            let message = format!("`{}` has the value {} twice", field.key, point.value);
            reading.refuse(node.at, message, "remove one of the two");
        }
        points.push(point);
    }
    points.sort_by_key(|point| point.value);
    Some(points)
}

fn point(reading: &mut Reading<'_>, node: &Node, what: &str) -> Option<Point> {
    let fields = reading.map(node, what, &["value", "score"])?;
    let at = reading.required(&fields, "value").and_then(|field| value(reading, field));
    let score = reading.required(&fields, "score").and_then(|field| reading.share(field));
    Some(Point { value: at?, score_ppm: score? })
}

fn labels(reading: &mut Reading<'_>, field: Field<'_>) -> Option<Measure> {
    let fields = reading.open_map(field)?;
    let mut scores = BTreeMap::new();
    for (_, field) in fields.all() {
        if let Some(score) = reading.share(field) {
            scores.insert(field.key.to_string(), score);
        }
    }
    if fields.all().next().is_none() {
        reading.refuse(fields.at, "`labels` has no label", "write { good: 1.0, bad: 0 }");
    }
    Some(Measure::Labels { scores })
}

fn value(reading: &mut Reading<'_>, field: Field<'_>) -> Option<Decimal> {
    match &field.node.kind {
        Kind::Text(text) => match units::duration(text).and_then(|duration| i64::try_from(duration.0).ok()) {
            Some(ms) => Some(Decimal::from_integer(ms)),
            None => {
                let message =
                    format!("`{}`: found {}, expected a number or a duration", field.key, field.node.described());
                reading.refuse(field.node.at, message, "for example 0.5, 200ms or 5s");
                None
            }
        },
        Kind::Null | Kind::Bool(_) | Kind::Number(_) | Kind::List(_) | Kind::Map(_) => reading.decimal(field),
    }
}
