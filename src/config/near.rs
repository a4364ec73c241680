//! "Did you mean": the name that was probably meant.

/// The candidate that `word` was probably meant to be, if one is near: the same
/// but for case, spaces, hyphens and underscores, or at most a third of its letters wrong.
pub fn near<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace(['-', ' '], "_");
    let wanted = plain(word);
    if wanted.len() > 100 {
        return None;
    }
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&wanted, &plain(candidate)), candidate))
        .filter(|(distance, candidate)| *distance <= candidate.chars().count().max(3) / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The hint for an unknown name: the near one, else all there are.
pub fn hint<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str> + Clone) -> String {
    match near(word, candidates.clone()) {
        Some(candidate) => format!("did you mean `{candidate}`?"),
        None => format!("one of {}", candidates.into_iter().collect::<Vec<_>>().join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_near_and_another_word_is_not() {
        assert_eq!(near("evaluatros", ["evaluators", "gate"]), Some("evaluators"));
        assert_eq!(near("Rate Limited", ["rate-limited"]), Some("rate-limited"));
        assert_eq!(near("gtae", ["gate"]), Some("gate"));
        assert_eq!(near("banana", ["gate", "evaluators"]), None);
        assert_eq!(hint("banana", ["gate", "lane"]), "one of gate, lane");
    }
}
