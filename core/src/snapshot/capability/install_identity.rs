use std::borrow::Cow;

use super::DistanceMetric;
use super::reading::ObservedFields;
use crate::digest::Digest;
use crate::json::{Path, Source, write_integer, write_string};
use crate::numbers::Dimension;
use crate::rules::{self, Read, Rules};

/// The members of a capability snapshot that make it.
const MEMBERS: [&str; 5] =
    ["capabilityDigest", "dimension", "distanceMetric", "pluginUniqueIdentifier", "schemaFingerprint"];

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
        let mut fields = ObservedFields::new();
        while let Some(key) = source.member()? {
            if !(MEMBERS.contains(&&*key) && fields.read(&key, source, path, rules)?) {
                rules.unknown(source, path, &key)?;
            }
        }
        let capability_digest = fields.capability_digest.required(rules, &path.member("capabilityDigest"));
        let dimension = fields.dimension.required(rules, &path.member("dimension"));
        let distance_metric = fields.distance_metric.required(rules, &path.member("distanceMetric"));
        let plugin_unique_identifier =
            fields.plugin_unique_identifier.required(rules, &path.member("pluginUniqueIdentifier"));
        let schema_fingerprint = fields.schema_fingerprint.required(rules, &path.member("schemaFingerprint"));
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
        out.push_str("\",\"dimension\":");
        write_integer(out, self.dimension.get().into());
        out.push_str(",\"distanceMetric\":\"");
        out.push_str(self.distance_metric.as_str());
        out.push_str("\",\"pluginUniqueIdentifier\":");
        write_string(out, &self.plugin_unique_identifier);
        out.push_str(",\"schemaFingerprint\":\"sha256:");
        self.schema_fingerprint.push_to(out);
        out.push_str("\"}");
    }
}
