//! Strict JSON in, RFC 8785 canonical JSON out.
//!
//! Parsing refuses whatever two readers could understand differently (I-JSON, RFC 7493): duplicate keys, lone
//! surrogates, numbers a double cannot hold, integers the canonical text would change. Numbers are read here
//! and not by a JSON library, so the answer does not depend on the features somebody else's crate switches on.
//!
//! Two readers share one lexer. [`Document`] is a tree that borrows from its text and keeps the members of
//! every object in canonical order. The crate-internal `Reader` hands the same tokens to the snapshot rules
//! without building anything. Neither recurses, so no nesting overflows the stack.

mod canonical;
#[cfg(any(test, target_arch = "wasm32"))]
mod decimal;
mod document;
mod error;
mod lexer;
mod members;
mod number;
mod pointer;
mod reader;
mod sorting;

pub(crate) use canonical::{Out, put_characters, put_integer, put_number};
pub(crate) use document::{DocumentSource, Node};
pub(crate) use members::Members;
pub(crate) use pointer::Path;
pub(crate) use reader::{Irregular, Reader, SharedReader, Source, Token, member_of, shared};

pub use canonical::{utf16_order, write_integer, write_string};
pub use document::Document;
pub use error::{JsonCode, JsonError};
pub use number::number_text;
pub use pointer::Pointer;

use crate::digest::Digest;

/// How large and how deep a text may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The most bytes of UTF-8, of the text as given and of its canonical form.
    pub bytes: usize,
    /// The most arrays and objects inside each other.
    pub depth: usize,
}

impl Limits {
    /// A snapshot: 64 KiB, nesting up to 64.
    pub const SNAPSHOT: Self = Self { bytes: 64 << 10, depth: 64 };
    /// A capability snapshot, a manifest's metadata or any other JSON: 1 MiB, nesting up to 64.
    pub const ANY: Self = Self { bytes: 1 << 20, depth: 64 };
    /// What a store holds already: 64 MiB, however deep. A limit on input must not make old rows unreadable.
    pub const ROW: Self = Self { bytes: 64 << 20, depth: usize::MAX };
}

/// The RFC 8785 canonical form of `text`.
///
/// # Errors
///
/// The first fault of the text, with its place; see [`JsonCode`].
///
/// ```
/// use space_profiles_core::json::{canonicalize, Limits};
/// let text = canonicalize(br#"{"b": 1.0, "a": [1e3]}"#, Limits::ANY)?;
/// assert_eq!(text, r#"{"a":[1000],"b":1}"#);
/// # Ok::<(), space_profiles_core::json::JsonError>(())
/// ```
pub fn canonicalize(text: &[u8], limits: Limits) -> Result<String, JsonError> {
    let document = Document::parse(text, limits)?;
    let canonical = document.canonical();
    if canonical.len() > limits.bytes {
        return Err(JsonError::too_large(canonical.len(), limits.bytes));
    }
    Ok(canonical)
}

/// The digest of a JSON text: SHA-256 over its RFC 8785 canonical bytes.
///
/// # Errors
///
/// The first fault of the text, with its place.
///
/// ```
/// use space_profiles_core::json::{digest, Limits};
/// assert_eq!(digest(br#"{"n": 1e1}"#, Limits::ANY)?, digest(br#"{"n":10}"#, Limits::ANY)?);
/// # Ok::<(), space_profiles_core::json::JsonError>(())
/// ```
pub fn digest(text: &[u8], limits: Limits) -> Result<Digest, JsonError> {
    let (digest, length) = Document::parse(text, limits)?.digest();
    if length > limits.bytes {
        return Err(JsonError::too_large(length, limits.bytes));
    }
    Ok(digest)
}
