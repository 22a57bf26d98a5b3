//! Hex digits where there are no vectors: eight at a time, in the bytes of a word.

/// The same number in every byte.
const EACH: u64 = u64::MAX / 255;

/// 32 bytes as lower-case hex digits.
pub(crate) fn to_digits(bytes: [u8; 32]) -> [u8; 64] {
    let mut hex = [0; 64];
    for (digits, four) in hex.as_chunks_mut::<8>().0.iter_mut().zip(bytes.as_chunks().0) {
        *digits = digits_of(u32::from_le_bytes(*four)).to_le_bytes();
    }
    hex
}

/// The bytes that lower-case hex digits stand for; of anything else there are none.
pub(crate) fn from_digits(hex: &[u8; 64]) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    for (four, digits) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(hex.as_chunks().0) {
        *four = value_of(u64::from_le_bytes(*digits)).to_le_bytes();
    }
    // What is no digit has a value here too, and that is written otherwise.
    (to_digits(bytes) == *hex).then_some(bytes)
}

/// The first byte and the first digit are the lowest.
const fn digits_of(bytes: u32) -> u64 {
    let pairs = (bytes as u64 | (bytes as u64) << 16) & 0x0000_FFFF_0000_FFFF;
    let lone = (pairs | pairs << 8) & 0x00FF_00FF_00FF_00FF;
    let nibbles = (lone >> 4 | lone << 8) & (EACH * 15);
    let letters = ((nibbles + EACH * 6) >> 4) & EACH;
    nibbles + EACH * b'0' as u64 + letters * (b'a' - b'0' - 10) as u64
}

const fn value_of(digits: u64) -> u32 {
    // Letters have a bit that digits have not, and begin with 1 in the lower half.
    let nibbles = (digits & (EACH * 15)) + ((digits >> 6) & EACH) * 9;
    let lone = (nibbles << 4 | nibbles >> 8) & 0x00FF_00FF_00FF_00FF;
    let pairs = (lone | lone >> 8) & 0x0000_FFFF_0000_FFFF;
    (pairs | pairs >> 16) as u32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Digest;

    proptest! {
        #[test]
        fn digits_are_those_of_a_digest(bytes in any::<[u8; 32]>()) {
            let digest = Digest::of(&bytes);
            let hex = digest.to_hex();
            let value = from_digits(&hex).unwrap();
            prop_assert_eq!(to_digits(value), hex);
            prop_assert_eq!(Digest::from_hex(&hex).unwrap(), digest);
        }

        #[test]
        fn a_byte_that_is_no_digit_is_refused_wherever_it_stands(at in 0..64_usize, byte in any::<u8>()) {
            let mut hex = *b"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
            hex[at] = byte;
            prop_assert_eq!(from_digits(&hex).is_some(), Digest::from_hex(&hex).is_ok());
        }
    }
}
