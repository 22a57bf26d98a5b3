//! Digests over keys in another order than RFC 8785's.
//!
//! knowledge-fs digested its rows over keys ordered by `localeCompare` in the locale its Node ran with. For
//! typed snapshots that order and RFC 8785 agree nearly everywhere; free-form objects differ wherever letter
//! case, `_`, `-` or accents decide. A read that does not match RFC 8785 therefore tries the root collation and
//! the locales that order typed capability snapshots differently.

use crate::digest::Digest;
use crate::json::{Document, Limits};

/// The order of keys over which a stored digest was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyOrder {
    /// RFC 8785: by UTF-16 code units.
    Rfc8785,
    /// `localeCompare` in a locale; `und` is the root collation.
    Legacy(&'static str),
}

impl KeyOrder {
    /// The order under which `document`, whose canonical digest is `canonical`, has the digest `stored`.
    pub(crate) fn of(document: &Document<'_>, canonical: Digest, stored: Digest) -> Option<Self> {
        if canonical == stored { Some(Self::Rfc8785) } else { legacy_order(document, stored) }
    }
}

/// The order of keys over which a stored digest of a JSON text was made; `None` if the digest is of something
/// else. Only RFC 8785's order is known without the feature `legacy-key-order`.
pub fn stored_key_order(text: &[u8], stored: Digest) -> Option<KeyOrder> {
    let document = Document::parse(text, Limits::ROW).ok()?;
    KeyOrder::of(&document, Digest::of(document.canonical().as_bytes()), stored)
}

#[cfg(not(feature = "legacy-key-order"))]
fn legacy_order(_: &Document<'_>, _: Digest) -> Option<KeyOrder> {
    None
}

/// The root collation, then the locales in which typed capability snapshots are ordered differently.
#[cfg(feature = "legacy-key-order")]
const LOCALES: [(&str, icu_locale_core::Locale); 7] = {
    use icu_locale_core::locale;
    [
        ("und", locale!("und")),
        ("cs", locale!("cs")),
        ("sk", locale!("sk")),
        ("uz", locale!("uz")),
        ("haw", locale!("haw")),
        ("ig", locale!("ig")),
        ("om", locale!("om")),
    ]
};

#[cfg(feature = "legacy-key-order")]
fn legacy_order(document: &Document<'_>, stored: Digest) -> Option<KeyOrder> {
    use icu_collator::Collator;
    use icu_collator::options::CollatorOptions;

    LOCALES.into_iter().find_map(|(name, locale)| {
        let collator = Collator::try_new((&locale).into(), CollatorOptions::default()).ok()?;
        let text = document.text_ordered_by(&|left, right| collator.compare(left, right));
        (Digest::of(text.as_bytes()) == stored).then_some(KeyOrder::Legacy(name))
    })
}
