//! Decimals of any length, exactly: `0.1 + 0.2` is `0.3`, and
//! `9007199254740993` is not its neighbour. Only what comparisons need.

use std::cmp::Ordering;
use std::fmt;

/// Digits and exponents beyond this are not compared: aligning two numbers
/// costs as many digits as their exponents are apart.
const PLACES_MAX: i64 = 1_000;

/// A decimal number: `digits` x 10^`exponent`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decimal {
    negative: bool,
    /// Most significant first, no zero at either end; empty for zero.
    digits: Vec<u8>,
    exponent: i64,
}

impl Decimal {
    /// Reads a number as JSON writes it (`-1.50e3`); leading zeros and a `+` are allowed.
    /// `None` for what is not a number, or beyond a thousand places.
    pub fn parse(text: &str) -> Option<Decimal> {
        let (negative, text) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let (mantissa, exponent) = match text.find(['e', 'E']) {
            Some(at) => (&text[..at], text[at + 1..].parse::<i64>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !is_digits(whole) || !is_digits(fraction) || mantissa.ends_with('.') {
            return None;
        }
        let exponent = exponent.checked_sub(i64::try_from(fraction.len()).ok()?)?;
        let digits = whole.bytes().chain(fraction.bytes()).map(|byte| byte - b'0').collect();
        Decimal { negative, digits, exponent }.normal()
    }

    fn normal(mut self) -> Option<Decimal> {
        while self.digits.last() == Some(&0) {
            self.digits.pop();
            self.exponent += 1;
        }
        let zeros = self.digits.iter().take_while(|digit| **digit == 0).count();
        self.digits.drain(..zeros);
        if self.digits.is_empty() {
            return Some(Decimal { negative: false, digits: Vec::new(), exponent: 0 });
        }
        let fits = i64::try_from(self.digits.len()).is_ok_and(|places| places <= PLACES_MAX);
        (fits && self.exponent.abs() <= PLACES_MAX).then_some(self)
    }

    /// The distance from zero.
    pub fn magnitude(&self) -> Decimal {
        Decimal { negative: false, ..self.clone() }
    }

    /// Whether it is below zero.
    pub fn is_negative(&self) -> bool {
        self.negative
    }

    /// How far apart two numbers are.
    pub fn distance(&self, other: &Decimal) -> Decimal {
        let (one, two, exponent) = aligned(self, other);
        let digits = match (self.negative == other.negative, compare(&one, &two)) {
            (false, _) => add(&one, &two),
            (true, Ordering::Less) => subtract(&two, &one),
            (true, Ordering::Equal | Ordering::Greater) => subtract(&one, &two),
        };
        Decimal { negative: false, digits, exponent }.trimmed()
    }

    /// The product of the magnitudes.
    pub fn product(&self, other: &Decimal) -> Decimal {
        let mut sums = vec![0u32; self.digits.len() + other.digits.len()];
        for (i, a) in self.digits.iter().enumerate() {
            for (j, b) in other.digits.iter().enumerate() {
                sums[i + j + 1] += u32::from(*a) * u32::from(*b);
            }
        }
        let mut carry = 0;
        for sum in sums.iter_mut().rev() {
            let value = *sum + carry;
            *sum = value % 10;
            carry = value / 10;
        }
        let digits = sums.into_iter().map(|digit| digit as u8).collect();
        Decimal { negative: false, digits, exponent: self.exponent + other.exponent }.trimmed()
    }

    /// Compares magnitudes.
    pub fn compare_magnitude(&self, other: &Decimal) -> Ordering {
        let (one, two, _) = aligned(self, other);
        compare(&one, &two)
    }

    /// The result of an operation, whose places are bounded by its operands'.
    fn trimmed(mut self) -> Decimal {
        let zeros = self.digits.iter().take_while(|digit| **digit == 0).count();
        self.digits.drain(..zeros);
        self
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.digits.is_empty() {
            return f.write_str("0");
        }
        let digits: String = self.digits.iter().map(|digit| char::from(b'0' + digit)).collect();
        let sign = if self.negative { "-" } else { "" };
        match usize::try_from(self.exponent) {
            Ok(zeros) => write!(f, "{sign}{digits}{}", "0".repeat(zeros)),
            Err(_) => {
                let places = usize::try_from(self.exponent.unsigned_abs()).unwrap_or(usize::MAX);
                let padded = format!("{digits:0>width$}", width = places.saturating_add(1));
                let (whole, fraction) = padded.split_at(padded.len() - places);
                write!(f, "{sign}{whole}.{}", fraction)
            }
        }
    }
}

/// The digits of both at the smaller exponent, equally long.
fn aligned(one: &Decimal, two: &Decimal) -> (Vec<u8>, Vec<u8>, i64) {
    let exponent = one.exponent.min(two.exponent);
    let raise = |number: &Decimal| {
        let zeros = usize::try_from(number.exponent - exponent).unwrap_or(0);
        let mut digits = number.digits.clone();
        digits.resize(digits.len() + zeros, 0);
        digits
    };
    let (mut one, mut two) = (raise(one), raise(two));
    let width = one.len().max(two.len());
    for digits in [&mut one, &mut two] {
        let missing = width - digits.len();
        digits.splice(0..0, std::iter::repeat_n(0, missing));
    }
    (one, two, exponent)
}

fn compare(one: &[u8], two: &[u8]) -> Ordering {
    one.cmp(two)
}

fn add(one: &[u8], two: &[u8]) -> Vec<u8> {
    let mut carry = 0;
    let mut digits: Vec<u8> = Vec::with_capacity(one.len() + 1);
    for (a, b) in one.iter().rev().zip(two.iter().rev()) {
        let sum = a + b + carry;
        digits.push(sum % 10);
        carry = sum / 10;
    }
    digits.push(carry);
    digits.reverse();
    digits
}

/// `large - small`, where `large` is not the smaller.
fn subtract(large: &[u8], small: &[u8]) -> Vec<u8> {
    let mut borrow = 0;
    let mut digits: Vec<u8> = Vec::with_capacity(large.len());
    for (a, b) in large.iter().rev().zip(small.iter().rev()) {
        let take = b + borrow;
        borrow = u8::from(*a < take);
        digits.push(a + 10 * borrow - take);
    }
    digits.reverse();
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        Decimal::parse(text).expect(text)
    }

    #[test]
    fn different_spellings_of_a_number_are_equal_and_neighbours_are_not() {
        for (one, two) in [("1.10", "1.1"), ("1e2", "100"), ("-0", "0.0"), ("1.5E+3", "1500"), ("0012", "12")] {
            assert_eq!(decimal(one), decimal(two));
        }
        assert_ne!(decimal("9007199254740993"), decimal("9007199254740992"));
        assert_ne!(decimal("-1"), decimal("1"));
    }

    #[test]
    fn arithmetic_is_exact() {
        for (one, two, distance) in [
            ("42.1", "42", "0.1"),
            ("0.3", "-0.1", "0.4"),
            ("-5", "-7", "2"),
            ("100000000000000000000000000001", "1e29", "1"),
            ("0.001", "1000", "999.999"),
        ] {
            assert_eq!(decimal(one).distance(&decimal(two)).compare_magnitude(&decimal(distance)), Ordering::Equal);
        }
        assert_eq!(decimal("0.05").product(&decimal("-42")).compare_magnitude(&decimal("2.1")), Ordering::Equal);
        assert_eq!(decimal("99").product(&decimal("99")).to_string(), "9801");
    }

    #[test]
    fn numbers_are_written_plainly() {
        for (text, written) in [("-1.50", "-1.5"), ("1e3", "1000"), ("5e-3", "0.005"), ("0", "0"), ("0.0", "0")] {
            assert_eq!(decimal(text).to_string(), written);
        }
    }

    #[test]
    fn what_is_no_number_or_too_long_to_compare_is_refused() {
        for text in ["", "-", "1.", ".5", "abc", "1e", "1e99999", "1e-2000", "1,5"] {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
        assert!(Decimal::parse(&"9".repeat(1000)).is_some());
        assert!(Decimal::parse(&"9".repeat(1001)).is_none());
    }
}
