//! Core's tests beside a serde_json with the features that have changed digests elsewhere.

pub use space_profiles_core;

#[cfg(test)]
mod tests {
    #[test]
    fn the_features_that_did_harm_are_on() {
        let number: serde_json::Value = serde_json::from_str("1.10").unwrap();
        assert_eq!(number.to_string(), "1.10", "arbitrary_precision keeps the digits");
        let object: serde_json::Value = serde_json::from_str(r#"{"b":1,"a":2}"#).unwrap();
        assert_eq!(object.to_string(), r#"{"b":1,"a":2}"#, "preserve_order keeps the order");
    }
}
