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

/// The value of a number literal that follows the JSON grammar.
pub(super) fn parse(literal: &str, plain_integer: bool, offset: usize) -> Result<f64, Fault> {
    let digits = literal.strip_prefix('-').unwrap_or(literal);
    if plain_integer && digits.len() <= SAFE_DIGITS {
        let magnitude = digits.bytes().fold(0_u64, |value, digit| value * 10 + u64::from(digit - b'0'));
        // Exact: below 10^15, thus below 2^53.
        let magnitude = magnitude as f64;
        return Ok(if digits.len() == literal.len() { magnitude } else { -magnitude });
    }
    let number = nearest(literal).filter(|number| number.is_finite()).ok_or_else(|| {
        Fault::new(
            JsonCode::NumberOutOfRange,
            offset,
            format!("expected a number that a double can hold, found one of {} characters", literal.len()),
        )
    })?;
    if plain_integer {
        let mut buffer = ryu_js::Buffer::new();
        let canonical = buffer.format_finite(number);
        if !same_integer(digits, canonical.strip_prefix('-').unwrap_or(canonical)) {
            return Err(Fault::new(
                JsonCode::UnsafeInteger,
                offset,
                // The literal is not echoed: nobody knows here whether the field may be.
                format!(
                    "expected an integer that a double keeps, found one of {} digits that would change; write it as \
                     a string",
                    digits.len()
                ),
            ));
        }
    }
    Ok(number)
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
    use super::*;

    #[test]
    fn an_integer_is_compared_with_its_canonical_text_by_value() {
        assert!(same_integer("9007199254740992", "9007199254740992"));
        assert!(!same_integer("9007199254740993", "9007199254740992"));
        assert!(same_integer("1000000000000000000000", "1e+21"));
        assert!(same_integer("1234500000000000000000000", "1.2345e+24"));
        assert!(!same_integer("1234500000000000000000001", "1.2345e+24"));
    }
}
