use std::borrow::Cow;

use super::DistanceMetric;
use super::reading::{LONGEST_UNIQUE_IDENTIFIER, name, prefixed_digest};
use crate::digest::Digest;
use crate::json::{Path, Source, write_string};
use crate::numbers::Dimension;
use crate::rules::{self, Read, Rules, Slot, choice};
use crate::snapshot::embedding::read_dimension;

/// What a vector space of version 2 depends on besides the selection and the revision.
pub(in crate::snapshot) struct InstallIdentity<'i> {
    pub(super) capability_digest: Digest,
    pub(super) dimension: Dimension,
    pub(super) distance_metric: DistanceMetric,
    pub(super) plugin_unique_identifier: Cow<'i, str>,
    pub(super) schema_fingerprint: Digest,
}

impl InstallIdentity<'_> {
    pub(in crate::snapshot) fn read<'a>(
        source: &mut impl Source<'a>,
        path: &Path<'_>,
        rules: &mut Rules,
    ) -> Read<InstallIdentity<'static>> {
        if !rules::object(source, path, rules)? {
            return Ok(None);
        }
        let mut capability_digest = Slot::Missing;
        let mut dimension = Slot::Missing;
        let mut distance_metric = Slot::Missing;
        let mut plugin_unique_identifier = Slot::Missing;
        let mut schema_fingerprint = Slot::Missing;
        while let Some(key) = source.member()? {
            let at = path.member(&key);
            match key.as_ref() {
                "capabilityDigest" => {
                    capability_digest.fill(source, |source| prefixed_digest(source, &at, rules))?;
                }
                "dimension" => dimension.fill(source, |source| read_dimension(source, &at, rules))?,
                "distanceMetric" => {
                    distance_metric.fill(source, |source| choice(source, &at, rules, &DistanceMetric::WORDS))?;
                }
                "pluginUniqueIdentifier" => plugin_unique_identifier
                    .fill(source, |source| name(source, &at, rules, LONGEST_UNIQUE_IDENTIFIER))?,
                "schemaFingerprint" => {
                    schema_fingerprint.fill(source, |source| prefixed_digest(source, &at, rules))?;
                }
                _ => rules.unknown(source, path, &key)?,
            }
        }
        let capability_digest = capability_digest.required(rules, &path.member("capabilityDigest"));
        let dimension = dimension.required(rules, &path.member("dimension"));
        let distance_metric = distance_metric.required(rules, &path.member("distanceMetric"));
        let plugin_unique_identifier =
            plugin_unique_identifier.required(rules, &path.member("pluginUniqueIdentifier"));
        let schema_fingerprint = schema_fingerprint.required(rules, &path.member("schemaFingerprint"));
        let read = || {
            Some(InstallIdentity {
                capability_digest: capability_digest?,
                dimension: dimension?,
                distance_metric: distance_metric?,
                plugin_unique_identifier: Cow::Owned(plugin_unique_identifier?),
                schema_fingerprint: schema_fingerprint?,
            })
        };
        Ok(read())
    }

    pub(in crate::snapshot) fn write(&self, out: &mut String) {
        out.push_str("{\"capabilityDigest\":\"sha256:");
        self.capability_digest.push_to(out);
        out.push_str(&format!(
            "\",\"dimension\":{},\"distanceMetric\":\"{}\",\"pluginUniqueIdentifier\":",
            self.dimension,
            self.distance_metric.as_str()
        ));
        write_string(out, &self.plugin_unique_identifier);
        out.push_str(",\"schemaFingerprint\":\"sha256:");
        self.schema_fingerprint.push_to(out);
        out.push_str("\"}");
    }
}
