//! Numbers: read exactly, written as ECMAScript writes them (RFC 8785 section 3.2.2.3).

use super::error::{Fault, JsonCode};

/// Integers of up to this many digits are exact in a double, and their canonical text is themselves.
const SAFE_DIGITS: usize = 15;

/// The canonical text of a finite double; `None` for an infinity and for NaN, which have no JSON text.
///
/// ```
/// use space_profiles_core::json::number_text;
/// assert_eq!(number_text(1e21).as_deref(), Some("1e+21"));
/// assert_eq!(number_text(-0.0).as_deref(), Some("0"));
/// assert_eq!(number_text(f64::NAN), None);
/// ```
pub fn number_text(number: f64) -> Option<String> {
    number.is_finite().then(|| ryu_js::Buffer::new().format_finite(number).to_owned())
}

/// A number as a text has it, by the JSON grammar.
#[derive(Debug, Clone, Copy)]
pub(super) struct Literal<'a> {
    pub(super) text: &'a str,
    pub(super) form: Form,
    pub(super) offset: usize,
}

/// Which parts a literal has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Digits alone.
    Integer,
    /// Also a fraction, but no exponent.
    Fraction,
    /// Also an exponent.
    Exponent,
}

impl Literal<'_> {
    /// Whether the literal is its own canonical text, told without reading its value. Decimals of up to 15
    /// significant digits are texts of different doubles each, so that of a double there is no shorter one.
    pub(super) fn is_canonical(&self) -> bool {
        let text = self.text.as_bytes();
        let magnitude = text.strip_prefix(b"-").unwrap_or(text);
        match self.form {
            Form::Integer => magnitude.len() <= SAFE_DIGITS && text != b"-0",
            // A text below 10^-6 has an exponent.
            Form::Fraction => {
                magnitude.len() <= SAFE_DIGITS + 1
                    && magnitude.last() != Some(&b'0')
                    && !magnitude.starts_with(b"0.000000")
            }
            Form::Exponent => false,
        }
    }

    /// The value of a literal that is its own canonical text.
    pub(super) fn canonical_value(text: &str) -> f64 {
        let form = if text.as_bytes().contains(&b'.') { Form::Fraction } else { Form::Integer };
        Literal { text, form, offset: 0 }.value().unwrap_or_default()
    }

    /// The value; refused are those that no double holds, and integers that the canonical text would change.
    pub(super) fn value(&self) -> Result<f64, Fault> {
        let Self { text, form, offset } = *self;
        let digits = text.strip_prefix('-').unwrap_or(text);
        if form == Form::Integer && digits.len() <= SAFE_DIGITS {
            let magnitude = digits.bytes().fold(0_u64, |value, digit| value * 10 + u64::from(digit - b'0'));
            // Exact: below 10^15, thus below 2^53.
            let magnitude = magnitude as f64;
            return Ok(if digits.len() == text.len() { magnitude } else { -magnitude });
        }
        let number = nearest(text).filter(|number| number.is_finite()).ok_or_else(|| {
            Fault::new(
                JsonCode::NumberOutOfRange,
                offset,
                format!("expected a number that a double can hold, found one of {} characters", text.len()),
            )
        })?;
        if form == Form::Integer {
            let mut buffer = ryu_js::Buffer::new();
            let canonical = buffer.format_finite(number);
            if !same_integer(digits, canonical.strip_prefix('-').unwrap_or(canonical)) {
                return Err(Fault::new(
                    JsonCode::UnsafeInteger,
                    offset,
                    // The literal is not echoed: nobody knows here whether the field may be.
                    format!(
                        "expected an integer that a double keeps, found one of {} digits that would change; write \
                         it as a string",
                        digits.len()
                    ),
                ));
            }
        }
        Ok(number)
    }
}

/// The double nearest to a literal.
#[cfg(not(target_arch = "wasm32"))]
fn nearest(literal: &str) -> Option<f64> {
    literal.parse().ok()
}

#[cfg(target_arch = "wasm32")]
fn nearest(literal: &str) -> Option<f64> {
    Some(super::decimal::parse(literal))
}

/// Whether an integer's digits and an ECMAScript number text of an integer say the same value.
fn same_integer(digits: &str, canonical: &str) -> bool {
    let (mantissa, exponent) = canonical.split_once('e').unwrap_or((canonical, "+0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let Ok(exponent) = exponent.parse::<usize>() else {
        return false;
    };
    let length = whole.len() + exponent;
    let significant = || whole.bytes().chain(fraction.bytes());
    let Some(padding) = length.checked_sub(significant().count()) else {
        return false;
    };
    digits.bytes().eq(significant().chain(std::iter::repeat_n(b'0', padding)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::json::{Limits, canonicalize};

    fn literal(text: &str) -> Literal<'_> {
        let form = match (text.contains(['e', 'E']), text.contains('.')) {
            (true, _) => Form::Exponent,
            (false, true) => Form::Fraction,
            (false, false) => Form::Integer,
        };
        Literal { text, form, offset: 0 }
    }

    #[track_caller]
    fn assert_told(text: &str) {
        if literal(text).is_canonical() {
            let value = Literal::canonical_value(text);
            assert_eq!(number_text(value).as_deref(), Some(text));
            assert_eq!(value.to_bits(), text.parse::<f64>().unwrap().to_bits(), "{text}");
        }
    }

    #[test]
    fn a_literal_that_is_its_own_canonical_text_is_told_without_its_value() {
        for text in ["0", "-1", "999999999999999", "0.35", "-0.5", "0.000001", "0.00000112", "12345678.1234567"] {
            assert!(literal(text).is_canonical(), "{text}");
            assert_told(text);
        }
        let others =
            ["-0", "0.0", "1.50", "1e1", "0.0000001", "0.00000095", "9999999999999999", "1234567890.123456"];
        for text in others {
            assert!(!literal(text).is_canonical(), "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5_000))]

        #[test]
        fn no_literal_is_taken_for_canonical_that_is_not(
            text in "-?(0|[1-9][0-9]{0,15})([.][0-9]{1,16})?",
            small in "-?0[.]0{0,8}[0-9]{1,8}",
        ) {
            assert_told(&text);
            assert_told(&small);
            for text in [text, small] {
                if let Ok(canonical) = canonicalize(text.as_bytes(), Limits::ANY) {
                    let value: f64 = text.parse().unwrap();
                    prop_assert_eq!(Some(canonical), number_text(value));
                }
            }
        }
    }

    #[test]
    fn an_integer_is_compared_with_its_canonical_text_by_value() {
        assert!(same_integer("9007199254740992", "9007199254740992"));
        assert!(!same_integer("9007199254740993", "9007199254740992"));
        assert!(same_integer("1000000000000000000000", "1e+21"));
        assert!(same_integer("1234500000000000000000000", "1.2345e+24"));
        assert!(!same_integer("1234500000000000000000001", "1.2345e+24"));
    }
}
