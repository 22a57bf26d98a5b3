//! Digests over keys in another order than RFC 8785's.
//!
//! knowledge-fs digested its rows over keys ordered by `localeCompare` in the locale its Node ran with. For
//! typed snapshots that order and RFC 8785 agree nearly everywhere; free-form objects differ wherever letter
//! case, `_`, `-` or accents decide. A read that does not match RFC 8785 therefore tries the root collation and
//! the locales that order typed capability snapshots differently.

use crate::digest::Digest;
use crate::json::{Document, Limits};
use crate::rules::excerpt;

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

/// Two keys of one object that the legacy order does not keep as RFC 8785 has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeysOutOfOrder {
    /// The key that comes first in RFC 8785.
    pub first: String,
    /// The key that follows it.
    pub next: String,
}

impl std::fmt::Display for KeysOutOfOrder {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "expected keys that knowledge-fs, which reads this database, orders as RFC 8785 does, found {} and {}, \
             which it does not, so that it would call the row corrupt; rename one of them",
            excerpt(&self.first),
            excerpt(&self.next)
        )
    }
}

/// The first two keys because of which a text has other bytes in the legacy order. That order is the root
/// collation: in the locales that differ from it, typed capability snapshots are not read either.
pub(crate) fn keys_out_of_order(document: &Document<'_>) -> Option<KeysOutOfOrder> {
    let is_kept = kept_by_root_collation();
    let (first, next) = document.neighbouring_keys().find(|(first, next)| !is_kept(first, next))?;
    Some(KeysOutOfOrder { first: first.to_owned(), next: next.to_owned() })
}

/// Whether the root collation puts one key before another. Keys that compare equal are in whatever order the
/// database keeps them.
#[cfg(feature = "legacy-key-order")]
fn kept_by_root_collation() -> impl Fn(&str, &str) -> bool {
    use icu_collator::Collator;
    use icu_collator::options::CollatorOptions;

    let collator = Collator::try_new(Default::default(), CollatorOptions::default()).ok();
    // Without the collation nothing is known to be kept.
    move |first, next| collator.as_ref().is_some_and(|collator| collator.compare(first, next).is_lt())
}

/// Of ASCII letters and digits the order is known without a collation: case decides last, and then against RFC
/// 8785. Any other key could go anywhere, so nothing that holds one is known to be kept.
#[cfg(any(test, not(feature = "legacy-key-order")))]
fn kept_for_certain(first: &str, next: &str) -> bool {
    let is_plain = |key: &str| key.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_plain(first) && is_plain(next) && first.to_ascii_lowercase() < next.to_ascii_lowercase()
}

#[cfg(not(feature = "legacy-key-order"))]
fn kept_by_root_collation() -> impl Fn(&str, &str) -> bool {
    kept_for_certain
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

#[cfg(all(test, feature = "legacy-key-order"))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_certain_without_a_collation_agrees_with_it(one in "[0-9A-Za-z]{0,4}", two in "[0-9A-Za-z]{0,4}") {
            // Keys are asked about as RFC 8785 orders them.
            let (first, next) = if one <= two { (one, two) } else { (two, one) };
            prop_assert_eq!(kept_for_certain(&first, &next), kept_by_root_collation()(&first, &next));
        }
    }

    #[test]
    fn the_keys_of_a_retrieval_snapshot_have_one_order_only() {
        let model = r#"{"model":"m","pluginId":"p","provider":"o"}"#;
        let text = format!(
            r#"{{"defaultMode":"deep","reasoningModel":{model},"rerank":{{"enabled":true,"model":{model}}},"revision":1,"scoreThreshold":{{"enabled":true,"stage":"mode-final","value":0.42}},"topK":15}}"#
        );
        assert!(crate::snapshot::validate(crate::Kind::Retrieval, text.as_bytes()).is_valid());
        let document = Document::parse(text.as_bytes(), Limits::ANY).unwrap();
        for (name, locale) in LOCALES {
            let collator = icu_collator::Collator::try_new(
                (&locale).into(),
                icu_collator::options::CollatorOptions::default(),
            )
            .unwrap();
            assert_eq!(document.text_ordered_by(&|left, right| collator.compare(left, right)), text, "{name}");
        }
    }
}
