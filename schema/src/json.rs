//! JSON as text and decimals as text: what events carry instead of floats.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;

/// A JSON value as its text, so that no digit is lost on the way through an event.
/// The text is compact JSON with the key order it was written in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct JsonText(String);

impl JsonText {
    /// The text of a value.
    pub fn of(value: &Value) -> JsonText {
        JsonText(value.to_string())
    }

    /// The value. Infallible because the text was checked when it was made.
    pub fn value(&self) -> Value {
        serde_json::from_str(&self.0).expect("a JsonText is made from JSON only")
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl Default for JsonText {
    fn default() -> JsonText {
        JsonText("null".into())
    }
}

impl TryFrom<String> for JsonText {
    type Error = String;
    fn try_from(text: String) -> Result<JsonText, String> {
        match serde_json::from_str::<Value>(&text) {
            Ok(_) => Ok(JsonText(text)),
            Err(error) => Err(format!("not JSON: {error}")),
        }
    }
}

impl From<JsonText> for String {
    fn from(json: JsonText) -> String {
        json.0
    }
}

impl fmt::Display for JsonText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A decimal number: an integer count of billionths, written as plain decimal
/// text (`43.1`, `-0.5`, `200`). Arithmetic on it is exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String", extend("pattern" = "^-?[0-9]+(\\.[0-9]+)?$"))]
pub struct Decimal(i128);

impl Decimal {
    const UNIT: i128 = 1_000_000_000;
    /// The largest magnitude in units: what both signs of a 96-bit count of billionths hold with room to multiply.
    const MAX: i128 = 1 << 90;

    /// A whole number.
    pub const fn from_integer(value: i64) -> Decimal {
        Decimal(value as i128 * Decimal::UNIT)
    }

    /// A decimal from a finite float, by its shortest decimal text, rounded to
    /// billionths; `None` for NaN, infinities and what is beyond about 10^18.
    pub fn from_f64(value: f64) -> Option<Decimal> {
        if !value.is_finite() {
            return None;
        }
        format!("{value}").parse().ok()
    }

    /// The count of billionths.
    pub const fn billionths(self) -> i128 {
        self.0
    }
}

impl std::str::FromStr for Decimal {
    type Err = String;
    fn from_str(text: &str) -> Result<Decimal, String> {
        let wrong = || format!("{text:?} is not a decimal number");
        let (negative, digits) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let all_digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
        if whole.is_empty()
            || !all_digits(whole)
            || !all_digits(fraction)
            || (digits.contains('.') && fraction.is_empty())
        {
            return Err(wrong());
        }
        let too_large = || format!("{text} is beyond what a decimal holds");
        let mut units: i128 =
            whole.parse::<i128>().map_err(|_| too_large())?.checked_mul(Decimal::UNIT).ok_or_else(too_large)?;
        let kept: String = fraction.chars().chain(std::iter::repeat('0')).take(9).collect();
        units += kept.parse::<i128>().map_err(|_| wrong())?;
        if fraction.as_bytes().get(9).is_some_and(|digit| *digit >= b'5') {
            units += 1;
        }
        if units > Decimal::MAX {
            return Err(too_large());
        }
        Ok(Decimal(if negative { -units } else { units }))
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let magnitude = self.0.unsigned_abs();
        let unit = Decimal::UNIT.unsigned_abs();
        if self.0 < 0 {
            f.write_str("-")?;
        }
        write!(f, "{}", magnitude / unit)?;
        let fraction = format!("{:09}", magnitude % unit);
        let fraction = fraction.trim_end_matches('0');
        if fraction.is_empty() { Ok(()) } else { write!(f, ".{fraction}") }
    }
}

impl From<Decimal> for String {
    fn from(decimal: Decimal) -> String {
        decimal.to_string()
    }
}

impl TryFrom<String> for Decimal {
    type Error = String;
    fn try_from(text: String) -> Result<Decimal, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_read_back_what_they_write() {
        for text in ["0", "43.1", "-0.5", "200", "0.000000001", "9007199254740993"] {
            assert_eq!(text.parse::<Decimal>().map(|d| d.to_string()), Ok(text.to_string()));
        }
    }

    #[test]
    fn decimals_refuse_what_is_not_a_plain_number() {
        for text in ["", "-", ".5", "5.", "1e3", "NaN", "+1", "1 "] {
            assert!(text.parse::<Decimal>().is_err(), "{text}");
        }
    }

    #[test]
    fn floats_become_their_shortest_decimal() {
        assert_eq!(Decimal::from_f64(0.1).map(|d| d.to_string()), Some("0.1".into()));
        assert_eq!(Decimal::from_f64(f64::NAN), None);
        assert_eq!(Decimal::from_f64(1e300), None);
    }
}
