//! What people and scripts see.

pub(crate) mod errors;
pub(crate) mod json;
pub(crate) mod lists;
pub(crate) mod tables;
mod text;

use std::io::Write as _;

use serde::Serialize;

use crate::exit::Failure;

pub(crate) use text::plain;

/// Writes to standard output, for people or for scripts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    pub(crate) is_json: bool,
}

impl Output {
    /// One JSON document on a line of its own.
    pub(crate) fn document(self, document: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string(document).map_err(|error| Failure::Other {
            code: "OUTPUT_FAILED",
            message: format!("the answer could not be written as JSON: {error}"),
        })?;
        Ok(writeln!(std::io::stdout().lock(), "{text}")?)
    }

    /// Text for people.
    pub(crate) fn text(self, text: impl std::fmt::Display) -> Result<(), Failure> {
        Ok(writeln!(anstream::stdout().lock(), "{text}")?)
    }

    /// The document for scripts, or the text for people.
    pub(crate) fn either<D: Serialize, T: std::fmt::Display>(
        self,
        document: impl FnOnce() -> D,
        text: impl FnOnce() -> T,
    ) -> Result<(), Failure> {
        if self.is_json { self.document(&document()) } else { self.text(text()) }
    }
}
