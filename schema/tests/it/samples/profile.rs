//! The profile of the story: every part that a profile can have.

use super::{digest, ppm};
use tribunal_schema::answer::FailureClass;
use tribunal_schema::json::{Decimal, JsonText};
use tribunal_schema::profile::{
    AttemptPolicy, Baseline, Binding, Budget, Dimension, ErrorsAs, EvaluatorPin, Group, Match, Measure, Method,
    PerCase, Persist, PersistAnswers, Point, Profile, Rate, Rule, SideEffects, TargetConfig, TargetKind,
};
use tribunal_schema::units::{DurationMs, ScorePpm};

pub fn profile() -> Profile {
    Profile {
        name: "support-agent-release".into(),
        version: "1.2.0".into(),
        description: Some("Release gate of the support agent.".into()),
        target: target(),
        judge: Some(judge()),
        attempts: AttemptPolicy {
            max: 3,
            backoff: DurationMs::from_secs(5),
            backoff_max: DurationMs::from_secs(600),
            retry_on: vec![
                FailureClass::Connect,
                FailureClass::Timeout,
                FailureClass::Reset,
                FailureClass::RateLimited,
                FailureClass::ServerError,
            ],
        },
        repeats: 3,
        errors_as: ErrorsAs::Inconclusive,
        chunk_size: 100,
        lane: "default".into(),
        budget: Budget { max_calls: Some(100_000), max_tokens: Some(50_000_000) },
        persist: Persist { answers: PersistAnswers::All, evidence: true },
        groups: vec![answers(), tools()],
        gate: gate(),
    }
}

fn target() -> TargetConfig {
    TargetConfig {
        kind: TargetKind::Chat {
            model: "mock".into(),
            parameters: json(r#"{"temperature":0.2,"max_tokens":512}"#),
            system: Some("You are a support agent.".into()),
            tools: json("[]"),
            stream: false,
        },
        url: "http://127.0.0.1:8790/v1/chat/completions".into(),
        headers: [("authorization".to_string(), "Bearer ${env:AGENT_TOKEN}".to_string())].into(),
        timeout: DurationMs::from_secs(30),
        max_in_flight: 64,
        rate: Some(Rate { calls: 200, per: DurationMs::from_secs(1) }),
        max_response_bytes: 8 * 1024 * 1024,
        side_effects: SideEffects::None,
    }
}

fn judge() -> TargetConfig {
    TargetConfig {
        kind: TargetKind::Http {
            method: "POST".into(),
            body: json(r#"{"prompt":"${prompt}"}"#),
            answer: [("text".to_string(), "$.reply".to_string())].into(),
        },
        url: "http://127.0.0.1:8791/judge".into(),
        headers: Default::default(),
        timeout: DurationMs::from_secs(30),
        max_in_flight: 8,
        rate: None,
        max_response_bytes: 8 * 1024 * 1024,
        side_effects: SideEffects::None,
    }
}

fn answers() -> Group {
    let takes = Match { task_type: Some("qa".into()), tags_any: vec!["smoke".into()], tags_all: vec!["en".into()] };
    let polite = Binding {
        config: json(r#"{"pattern":"(?i)please|thank"}"#),
        required: false,
        ..binding("polite", "regex", "style")
    };
    Group {
        name: "answers".into(),
        takes,
        bindings: vec![
            Binding { config: json(r#"{"ignore_case":true}"#), ..binding("says-it", "contains", "correctness") },
            Binding {
                config: json(r#"{"max":120}"#),
                measure: Measure::Thresholds {
                    steps: vec![point("0", 1_000_000), point("120.5", 500_000), point("240", 0)],
                },
                ..binding("not-too-long", "word-count", "style")
            },
            polite,
        ],
        dimensions: vec![
            Dimension {
                weight_ppm: 3_000_000,
                pass_at: Some(ScorePpm::ONE),
                ..dimension("correctness", Method::WeightedMean)
            },
            dimension("style", Method::Min),
        ],
    }
}

fn tools() -> Group {
    let labels = [("exact".to_string(), ScorePpm::ONE), ("close".to_string(), ppm(500_000))];
    Group {
        name: "tools".into(),
        takes: Match { task_type: Some("tool_use".into()), ..Match::default() },
        bindings: vec![
            Binding { blocking: true, ..binding("right-tool", "tool-called", "tools") },
            Binding {
                config: json(r#"{"mode":"subset"}"#),
                measure: Measure::Labels { scores: labels.into() },
                ..binding("right-arguments", "tool-args-match", "tools")
            },
            Binding {
                measure: Measure::Linear { best: decimal("200"), worst: decimal("5000") },
                pass_at: ppm(200_000),
                ..binding("fast", "latency", "speed")
            },
            Binding {
                measure: Measure::Piecewise { points: vec![point("0", 0), point("3", 1_000_000)] },
                negate: true,
                ..binding("not-chatty", "word-count", "speed")
            },
        ],
        dimensions: vec![
            Dimension { weight_ppm: 2_000_000, blocking: true, ..dimension("tools", Method::Min) },
            dimension("speed", Method::WeightedMean),
        ],
    }
}

fn binding(id: &str, evaluator: &str, dimension: &str) -> Binding {
    Binding {
        id: id.into(),
        evaluator: EvaluatorPin {
            reference: format!("std/{evaluator}"),
            name: evaluator.into(),
            component: digest("the std component"),
        },
        config: JsonText::default(),
        measure: Measure::Direct,
        negate: false,
        dimension: dimension.into(),
        weight_ppm: 1_000_000,
        pass_at: ScorePpm::ONE,
        required: true,
        blocking: false,
    }
}

fn dimension(name: &str, method: Method) -> Dimension {
    Dimension { name: name.into(), method, weight_ppm: 1_000_000, pass_at: None, blocking: false }
}

fn gate() -> Vec<Rule> {
    let all = Rule::default();
    vec![
        Rule {
            dimension: Some("correctness".into()),
            min_mean: Some(ppm(900_000)),
            min_pass_rate: Some(ppm(850_000)),
            ..all.clone()
        },
        Rule {
            dimension: Some("tools".into()),
            group: Some("tools".into()),
            min_pass_rate: Some(ppm(950_000)),
            ..all.clone()
        },
        Rule { tag: Some("smoke".into()), min_pass_rate: Some(ScorePpm::ONE), ..all.clone() },
        Rule { per_case: Some(PerCase { passes: 2, of: 3 }), min_pass_rate: Some(ppm(900_000)), ..all.clone() },
        Rule {
            min_coverage: Some(ppm(980_000)),
            max_error_rate: Some(ppm(20_000)),
            max_abstention_rate: Some(ppm(50_000)),
            ..all.clone()
        },
        Rule { baseline: Some(Baseline { max_drop: ppm(20_000), confidence: ppm(950_000) }), ..all },
    ]
}

fn point(value: &str, score: u32) -> Point {
    Point { value: decimal(value), score_ppm: ppm(score) }
}

fn decimal(text: &str) -> Decimal {
    text.parse().expect("samples are decimals")
}

fn json(text: &str) -> JsonText {
    JsonText::try_from(text.to_string()).expect("samples are JSON")
}
