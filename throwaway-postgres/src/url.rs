//! Addresses as libpq and sqlx read them.

use std::fmt::Write as _;

pub(crate) const USER: &str = "postgres";

pub(crate) fn tcp(port: u16, database: &str) -> String {
    format!("postgres://{USER}@127.0.0.1:{port}/{}", percent_encoded(database))
}

/// A name in a URL's path.
pub(crate) fn percent_encoded(name: &str) -> String {
    name.bytes().fold(String::new(), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            write!(encoded, "%{byte:02X}").unwrap();
        }
        encoded
    })
}
