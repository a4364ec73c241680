//! Instants and spans as people and machines read them. Always UTC: a report is
//! compared with logs of other machines.

use jiff::Timestamp;
use tribunal_schema::units::InstantMs;

fn timestamp(at: InstantMs) -> Option<Timestamp> {
    Timestamp::from_millisecond(at.0).ok()
}

/// `2026-11-30 21:45:31 UTC`
pub fn instant(at: InstantMs) -> String {
    timestamp(at).map_or_else(|| format!("{} ms", at.0), |at| at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string())
}

/// `2026-11-30T21:45:31.123Z`
pub fn rfc3339(at: InstantMs) -> String {
    timestamp(at).map_or_else(|| at.0.to_string(), |at| format!("{at:.3}"))
}

/// A span of milliseconds in its two largest units: `320 ms`, `12.3 s`, `4 min 05 s`, `2 h 07 min`.
pub fn span(ms: u64) -> String {
    match ms {
        0..1000 => format!("{ms} ms"),
        1000..60_000 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        60_000..3_600_000 => format!("{} min {:02} s", ms / 60_000, ms % 60_000 / 1000),
        _ => format!("{} h {:02} min", ms / 3_600_000, ms % 3_600_000 / 60_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_utc_and_an_impossible_one_is_still_shown() {
        let at = InstantMs(1_764_539_131_123);
        assert_eq!(instant(at), "2025-11-30 21:45:31 UTC");
        assert_eq!(rfc3339(at), "2025-11-30T21:45:31.123Z");
        assert_eq!(rfc3339(InstantMs(0)), "1970-01-01T00:00:00.000Z");
        assert_eq!(instant(InstantMs(i64::MAX)), "9223372036854775807 ms");
    }

    #[test]
    fn spans_have_the_unit_that_fits() {
        for (ms, shown) in [
            (0, "0 ms"),
            (999, "999 ms"),
            (1000, "1.0 s"),
            (59_999, "59.9 s"),
            (60_000, "1 min 00 s"),
            (3_599_999, "59 min 59 s"),
            (7_620_000, "2 h 07 min"),
        ] {
            assert_eq!(span(ms), shown);
        }
    }
}
