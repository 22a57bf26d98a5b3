//! Reading decimal numbers exactly without a table of powers: the standard library's table is a fifth of what the
//! module for browsers may weigh. Servers use the standard library; a test holds the two against each other.

use std::cmp::Ordering;

/// More significant digits than decide any rounding: the exact decimal text of the middle between two doubles has at
/// most 768 (Clinger, "How to Read Floating Point Numbers Accurately", 1990).
const DECISIVE_DIGITS: usize = 800;
/// 10 to the 9th is the largest power of ten in a word.
const WORD_DIGITS: usize = 9;
/// Powers of ten up to here are exact doubles, and so are integers of up to [`EXACT_DIGITS`] digits.
const EXACT_POWER: i64 = 22;
const EXACT_DIGITS: usize = 15;
const MANTISSA_BITS: i64 = 53;
const LOWEST_EXPONENT: i64 = -1_022;
const HIGHEST_EXPONENT: i64 = 1_023;

/// The double nearest to a literal that follows the JSON grammar, ties to even; beyond the largest, infinity.
pub(super) fn parse(literal: &str) -> f64 {
    let (sign, magnitude) = match literal.strip_prefix('-') {
        Some(magnitude) => (-1.0, magnitude),
        None => (1.0, literal),
    };
    sign * Decimal::read(magnitude).nearest()
}

/// `digits` as an integer, times ten to the power of `exponent`.
struct Decimal {
    digits: Vec<u8>,
    exponent: i64,
}

impl Decimal {
    fn read(literal: &str) -> Self {
        let mut decimal = Self { digits: Vec::new(), exponent: 0 };
        let mut bytes = literal.bytes();
        let mut is_fraction = false;
        let mut is_cut = false;
        for byte in bytes.by_ref() {
            match byte {
                b'.' => is_fraction = true,
                b'0'..=b'9' => {
                    let digit = byte - b'0';
                    if decimal.digits.len() < DECISIVE_DIGITS {
                        if digit != 0 || !decimal.digits.is_empty() {
                            decimal.digits.push(digit);
                        }
                        decimal.exponent -= i64::from(is_fraction);
                    } else {
                        is_cut |= digit != 0;
                        decimal.exponent += i64::from(!is_fraction);
                    }
                }
                _ => break,
            }
        }
        let mut power: i64 = 0;
        let mut is_negative = false;
        for byte in bytes {
            match byte {
                b'-' => is_negative = true,
                b'0'..=b'9' => power = power.saturating_mul(10).saturating_add(i64::from(byte - b'0')),
                _ => {}
            }
        }
        decimal.exponent = decimal.exponent.saturating_add(if is_negative { -power } else { power });
        if is_cut {
            // Something is there beyond the digits that are kept: no tie is one.
            decimal.digits.push(1);
            decimal.exponent = decimal.exponent.saturating_sub(1);
        }
        decimal
    }

    fn nearest(&self) -> f64 {
        if self.digits.is_empty() {
            return 0.0;
        }
        // The value is below ten to this power, and a tenth of that at least.
        let magnitude = self.exponent.saturating_add(self.digits.len() as i64);
        if magnitude > 310 {
            return f64::INFINITY;
        }
        if magnitude < -330 {
            return 0.0;
        }
        if self.digits.len() <= EXACT_DIGITS && self.exponent.abs() <= EXACT_POWER {
            // Both are exact, so that only the one operation rounds.
            let integer = self.digits.iter().fold(0.0, |value, digit| value * 10.0 + f64::from(*digit));
            let power = (0..self.exponent.abs()).fold(1.0, |power, _| power * 10.0);
            return if self.exponent < 0 { integer / power } else { integer * power };
        }
        let mut numerator = Natural::of_digits(&self.digits);
        let mut denominator = Natural(vec![1]);
        let scaled = if self.exponent < 0 { &mut denominator } else { &mut numerator };
        scaled.multiply_by_power_of_ten(self.exponent.unsigned_abs() as usize);
        quotient(numerator, denominator)
    }
}

/// The double nearest to a quotient, by long division in binary.
fn quotient(mut numerator: Natural, mut denominator: Natural) -> f64 {
    // Scaled to be from 1 to 2, times two to the power of `exponent`.
    let mut exponent = numerator.bits() as i64 - denominator.bits() as i64;
    let scaled = if exponent > 0 { &mut denominator } else { &mut numerator };
    scaled.shift_left(exponent.unsigned_abs() as usize);
    if numerator.compare(&denominator).is_lt() {
        numerator.shift_left(1);
        exponent -= 1;
    }
    if exponent > HIGHEST_EXPONENT {
        return f64::INFINITY;
    }
    // Below the lowest exponent a double has fewer bits.
    let bits = MANTISSA_BITS - (LOWEST_EXPONENT - exponent).max(0);
    if bits < 0 {
        return 0.0;
    }
    let mut mantissa = 0_u64;
    for _ in 0..bits {
        mantissa <<= 1;
        if numerator.compare(&denominator).is_ge() {
            numerator.subtract(&denominator);
            mantissa |= 1;
        }
        numerator.shift_left(1);
    }
    // What is left is twice the remainder.
    mantissa += match numerator.compare(&denominator) {
        Ordering::Greater => 1,
        Ordering::Equal => mantissa & 1,
        Ordering::Less => 0,
    };
    // The highest bit of a full mantissa adds one to the exponent's field, and so does a carry.
    let field = (exponent.max(LOWEST_EXPONENT) - LOWEST_EXPONENT) as u64;
    f64::from_bits((field << (MANTISSA_BITS - 1)) + mantissa)
}

/// A natural number; its words are of 32 bits, the lowest first.
struct Natural(Vec<u32>);

impl Natural {
    fn of_digits(digits: &[u8]) -> Self {
        let mut natural = Self(Vec::new());
        for part in digits.chunks(WORD_DIGITS) {
            let value = part.iter().fold(0, |value, digit| value * 10 + u32::from(*digit));
            natural.multiply_and_add(10_u32.pow(part.len() as u32), value);
        }
        natural
    }

    fn multiply_and_add(&mut self, factor: u32, summand: u32) {
        let mut carry = u64::from(summand);
        for word in &mut self.0 {
            carry += u64::from(*word) * u64::from(factor);
            *word = carry as u32;
            carry >>= 32;
        }
        if carry > 0 {
            self.0.push(carry as u32);
        }
    }

    fn multiply_by_power_of_ten(&mut self, power: usize) {
        for _ in 0..power / WORD_DIGITS {
            self.multiply_and_add(10_u32.pow(WORD_DIGITS as u32), 0);
        }
        self.multiply_and_add(10_u32.pow((power % WORD_DIGITS) as u32), 0);
    }

    fn shift_left(&mut self, bits: usize) {
        self.multiply_and_add(1 << (bits % 32), 0);
        if bits >= 32 {
            let mut shifted = vec![0; bits / 32];
            shifted.append(&mut self.0);
            self.0 = shifted;
        }
    }

    /// INVARIANT: `other` is not larger.
    fn subtract(&mut self, other: &Self) {
        let mut borrow = 0_i64;
        for (at, word) in self.0.iter_mut().enumerate() {
            let difference = i64::from(*word) - i64::from(other.0.get(at).copied().unwrap_or(0)) + borrow;
            *word = difference as u32;
            borrow = difference >> 32;
        }
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }

    /// INVARIANT: the highest word of either is not zero.
    fn compare(&self, other: &Self) -> Ordering {
        self.0.len().cmp(&other.0.len()).then_with(|| self.0.iter().rev().cmp(other.0.iter().rev()))
    }

    fn bits(&self) -> usize {
        self.0.last().map_or(0, |highest| self.0.len() * 32 - highest.leading_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::parse;

    #[track_caller]
    fn assert_exact(literal: &str) {
        let expected: f64 = literal.parse().unwrap();
        assert_eq!(parse(literal).to_bits(), expected.to_bits(), "{literal}");
    }

    /// The exact decimal text of the middle between a double and the next one, which is where rounding turns.
    fn middle(bits: u64) -> Option<String> {
        let (one, next) = (f64::from_bits(bits), f64::from_bits(bits + 1));
        if !next.is_finite() {
            return None;
        }
        // Halves are exact, and so are their decimal texts.
        let (one, next) = (format!("{one:.1100}"), format!("{next:.1100}"));
        let digits =
            |text: &str| text.bytes().filter(|byte| *byte != b'.').map(|byte| byte - b'0').collect::<Vec<_>>();
        let (mut one, mut next) = (digits(&one), digits(&next));
        let length = one.len().max(next.len());
        for number in [&mut one, &mut next] {
            number.splice(0..0, vec![0; length - number.len()]);
        }
        let mut sum = vec![0; length];
        let mut carry = 0;
        for at in (0..length).rev() {
            carry += one[at] + next[at];
            sum[at] = carry % 10;
            carry /= 10;
        }
        let mut rest = carry;
        for digit in &mut sum {
            let value = rest * 10 + *digit;
            *digit = value / 2;
            rest = value % 2;
        }
        let text: String = sum.into_iter().map(|digit| char::from(b'0' + digit)).collect();
        let (whole, fraction) = text.split_at(length - 1_100);
        let whole = whole.trim_start_matches('0');
        Some(format!("{}.{fraction}", if whole.is_empty() { "0" } else { whole }))
    }

    #[test]
    fn what_is_hard_to_round_is_rounded_as_the_standard_library_does() {
        for literal in [
            "0",
            "-0",
            "0.0",
            "0e999999999999999999999",
            "1e22",
            "1e23",
            "8.5e22",
            "9007199254740993",
            "123456789012345678",
            "1.7976931348623157e308",
            "1.7976931348623158e308",
            "1.7976931348623159e308",
            "1e309",
            "1e-400",
            "5e-324",
            "2.4703282292062327e-324",
            "2.4703282292062328e-324",
            "2.2250738585072011e-308",
            "2.2250738585072014e-308",
            "1e99999999999999999999",
            "1e-99999999999999999999",
            "0.000000000000000000000000000000000001e36",
            "179769313486231580793728971405303415079934132710037826936173778980444968292764750946649017977587207096330286416692887910946555547851940402630657488671505820681908902000708383676273854845817711531764475730270069855571366959622842914819860834936475292719074168444365510704342711559699508093042880",
        ] {
            assert_exact(literal);
        }
        for power in -345..=310 {
            assert_exact(&format!("1e{power}"));
            assert_exact(&format!("-9.999999999999999999e{power}"));
        }
        for bits in [0, 1, 2, (1 << 52) - 1, 1 << 52, 0x7FEF_FFFF_FFFF_FFFE, 1_f64.to_bits(), 0.1_f64.to_bits()] {
            let middle = middle(bits).unwrap();
            assert_exact(&middle);
            assert_exact(&format!("{middle}{}1", "0".repeat(1_000)));
            assert_exact(middle.get(..middle.len() - 400).unwrap());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn a_double_is_read_back_from_its_text(bits in any::<u64>()) {
            let number = f64::from_bits(bits);
            if number.is_finite() {
                assert_exact(&format!("{number}"));
                assert_exact(&format!("{number:e}"));
                assert_exact(&format!("{number:.25e}"));
            }
        }

        #[test]
        fn any_literal_is_read_as_the_standard_library_reads_it(
            literal in "-?(0|[1-9][0-9]{0,40})([.][0-9]{1,40})?([eE][+-]?[0-9]{1,3})?",
        ) {
            assert_exact(&literal);
        }

        #[test]
        fn the_middle_between_two_doubles_goes_to_the_even_one(bits in 0..0x7FEF_FFFF_FFFF_FFFE_u64) {
            assert_exact(&middle(bits).unwrap());
        }
    }
}
