//! What a target asks to wait. Pure: headers and an instant in, a span out.

use hyper::HeaderMap;
use std::time::SystemTime;

/// The longest wait that is reported, in milliseconds: a year. What is beyond it
/// means "not in this run" all the same, and stays far above any cap of retries.
pub const RETRY_AFTER_MS_MAX: u64 = 365 * 24 * 3600 * 1000;

/// What a target asks to wait before it is called again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RetryAfter {
    /// Nothing.
    Absent,
    /// This many milliseconds, at most [`RETRY_AFTER_MS_MAX`].
    Wait(u64),
    /// Something that is not a time to wait: the value as it came.
    Unusable(String),
}

impl RetryAfter {
    /// The milliseconds, where there are any.
    pub fn ms(&self) -> Option<u64> {
        match self {
            RetryAfter::Wait(ms) => Some(*ms),
            RetryAfter::Absent | RetryAfter::Unusable(_) => None,
        }
    }
}

/// Reads `retry-after-ms` (milliseconds) and, where it is absent or unusable,
/// `Retry-After` (seconds, also with a fraction, or an HTTP date counted from
/// `now`; a date in the past is no wait).
pub fn retry_after(headers: &HeaderMap, now: SystemTime) -> RetryAfter {
    let mut unusable = RetryAfter::Absent;
    for (name, ms_per_unit) in [("retry-after-ms", 1), ("retry-after", 1000)] {
        let Some(value) = headers.get(name) else { continue };
        let text = String::from_utf8_lossy(value.as_bytes());
        let text = text.trim();
        let ms = number(text, ms_per_unit).or_else(|| match ms_per_unit {
            1 => None,
            _ => date(text, now),
        });
        match ms {
            Some(ms) => return RetryAfter::Wait(ms.min(RETRY_AFTER_MS_MAX)),
            None => unusable = RetryAfter::Unusable(text.to_owned()),
        }
    }
    unusable
}

/// Digits, perhaps with a fraction, in milliseconds; rounded up, so that a wait is never cut short.
fn number(text: &str, ms_per_unit: u64) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return None;
    }
    // Digits that do not fit in an integer are a number all the same: a huge one.
    let whole = whole.parse::<u64>().unwrap_or(u64::MAX).saturating_mul(ms_per_unit);
    let kept = &fraction[..fraction.len().min(9)];
    let scale = 10_u64.pow(u32::try_from(kept.len()).expect("at most nine digits"));
    let part = kept.parse::<u64>().ok()? * ms_per_unit;
    Some(whole.saturating_add(part.div_ceil(scale)))
}

fn date(text: &str, now: SystemTime) -> Option<u64> {
    let at = httpdate::parse_http_date(text).ok()?;
    let wait = at.duration_since(now).unwrap_or_default();
    Some(u64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn read(pairs: &[(&'static str, &str)]) -> RetryAfter {
        let headers = pairs.iter().map(|(name, value)| {
            (hyper::header::HeaderName::from_static(name), hyper::header::HeaderValue::from_str(value).unwrap())
        });
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        retry_after(&headers.collect(), now)
    }

    #[test]
    fn seconds_fractions_dates_and_milliseconds_are_read() {
        for (value, ms) in [
            ("0", 0),
            ("7", 7000),
            (" 7 ", 7000),
            ("1.5", 1500),
            ("0.0001", 1),
            ("Sun, 06 Nov 1994 08:49:39 GMT", 2000),
            ("Sunday, 06-Nov-94 08:49:39 GMT", 2000),
            ("Sun, 06 Nov 1994 08:49:36 GMT", 0),
        ] {
            assert_eq!(read(&[("retry-after", value)]), RetryAfter::Wait(ms), "{value}");
        }
        assert_eq!(read(&[("retry-after", "7"), ("retry-after-ms", "250")]), RetryAfter::Wait(250));
    }

    #[test]
    fn a_date_is_counted_to_the_millisecond_and_rounded_up() {
        let headers =
            HeaderMap::from_iter([(hyper::header::RETRY_AFTER, "Sun, 06 Nov 1994 08:49:38 GMT".parse().unwrap())]);
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        assert_eq!(retry_after(&headers, now + Duration::from_micros(500_400)), RetryAfter::Wait(500));
    }

    #[test]
    fn what_is_not_a_time_is_said_and_not_guessed() {
        for value in ["-5", "+5", "soon", "1e3", "", "5 s", "NaN", ".", "1.", "Sun, 06 Nov"] {
            assert_eq!(read(&[("retry-after", value)]), RetryAfter::Unusable(value.into()), "{value}");
        }
        assert_eq!(read(&[("retry-after-ms", "x"), ("retry-after", "2")]), RetryAfter::Wait(2000));
        assert_eq!(read(&[]), RetryAfter::Absent);
    }

    #[test]
    fn a_huge_wait_is_held_at_a_year_instead_of_overflowing() {
        for value in ["31536001", "18446744073709551615", "99999999999999999999999", "Fri, 31 Dec 9999 23:59:59 GMT"] {
            assert_eq!(read(&[("retry-after", value)]), RetryAfter::Wait(RETRY_AFTER_MS_MAX), "{value}");
        }
        assert_eq!(read(&[("retry-after", "31536000")]), RetryAfter::Wait(RETRY_AFTER_MS_MAX));
    }
}
