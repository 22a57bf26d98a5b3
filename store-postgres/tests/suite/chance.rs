//! Chance that can be repeated.

use space_profiles_core::{Draw, OsDraw};

/// Numbers by SplitMix64 (Steele, Lea and Flood, 2014).
pub(crate) struct Chance(u64);

impl Chance {
    /// A seed that is told if the test fails; `SEED` repeats one, as far as the scheduler lets it.
    #[allow(clippy::print_stdout, reason = "the harness shows it beside a failure and not otherwise")]
    pub(crate) fn seed() -> u64 {
        let given = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or_else(|| OsDraw.id().as_u64_pair().1);
        println!("SEED={seed}");
        seed
    }

    /// The numbers of one of several who draw from one seed.
    pub(crate) fn of(seed: u64, who: u64) -> Self {
        Self(seed.wrapping_add(who.wrapping_mul(0xa076_1d64_78bd_642f)))
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        u32::try_from((mixed ^ (mixed >> 31)) % u64::from(end)).unwrap()
    }

    pub(crate) fn one_of<'i, T>(&mut self, items: &'i [T]) -> &'i T {
        &items[self.below(u32::try_from(items.len()).unwrap()) as usize]
    }
}
