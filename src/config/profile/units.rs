//! Durations, sizes and rates as people write them.

use tribunal_schema::json::Decimal;
use tribunal_schema::profile::Rate;
use tribunal_schema::units::DurationMs;

/// `200ms`, `30s`, `1.5h`, `1m30s`: whole milliseconds, largest unit first or not.
/// `None` for anything else, also for a number without a unit.
pub fn duration(text: &str) -> Option<DurationMs> {
    let mut rest = text.trim();
    let mut total: i128 = 0;
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let (number, after) = split_number(rest)?;
        let unit_end = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let unit_ms: i128 = match &after[..unit_end] {
            "ms" => 1,
            "s" => 1_000,
            "m" | "min" => 60_000,
            "h" => 3_600_000,
            _ => return None,
        };
        total = total.checked_add(whole(number, unit_ms)?)?;
        rest = &after[unit_end..];
    }
    u64::try_from(total).ok().map(DurationMs)
}

/// `8MiB`, `512 KiB`, `1GB`: whole bytes; `None` for anything else.
pub fn size(text: &str) -> Option<u64> {
    let (number, unit) = split_number(text.trim())?;
    let unit_bytes = match unit.trim() {
        "B" => 1,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    u64::try_from(whole(number, unit_bytes)?).ok()
}

/// `200/s`, `60/min`, `1000/h`; `None` for anything else.
pub fn rate(text: &str) -> Option<Rate> {
    let (calls, unit) = text.split_once('/')?;
    let per = match unit.trim() {
        "s" | "sec" | "second" => 1,
        "m" | "min" | "minute" => 60,
        "h" | "hour" => 3_600,
        _ => return None,
    };
    let calls = calls.trim().parse().ok().filter(|calls| (1..=1_000_000).contains(calls))?;
    Some(Rate { calls, per: DurationMs::from_secs(per) })
}

fn split_number(text: &str) -> Option<(Decimal, &str)> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    Some((text[..end].parse().ok()?, &text[end..]))
}

/// A number of units as a whole number of ones; `None` where it is not whole.
fn whole(number: Decimal, unit: i128) -> Option<i128> {
    const BILLION: i128 = 1_000_000_000;
    let billionths = number.billionths().checked_mul(unit)?;
    (billionths % BILLION == 0).then_some(billionths / BILLION)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit_and_are_whole_milliseconds() {
        for (text, ms) in [
            ("200ms", 200),
            ("30s", 30_000),
            ("10m", 600_000),
            ("1.5s", 1_500),
            ("1m30s", 90_000),
            ("1h", 3_600_000),
            ("0s", 0),
        ] {
            assert_eq!(duration(text), Some(DurationMs(ms)), "{text}");
        }
        for text in ["", "30", "s", "-1s", "1.5ms", "30 parsecs", "1e3s", "30S", "9999999999999999999999h"] {
            assert_eq!(duration(text), None, "{text}");
        }
    }

    #[test]
    fn sizes_and_rates_have_units() {
        assert_eq!(size("8MiB"), Some(8 << 20));
        assert_eq!(size("1.5 KiB"), Some(1536));
        assert_eq!(size("1MB"), Some(1_000_000));
        for text in ["8", "8mib", "MiB", "-1B", "0.5B"] {
            assert_eq!(size(text), None, "{text}");
        }
        assert_eq!(rate("60/min"), Some(Rate { calls: 60, per: DurationMs(60_000) }));
        for text in ["60", "0/s", "1.5/s", "60/day", "/s", "1000001/s"] {
            assert_eq!(rate(text), None, "{text}");
        }
    }
}
