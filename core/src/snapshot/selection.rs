use std::borrow::Cow;

use crate::json::{Irregular, Out, Path, Source, member_of, put_characters};
use crate::report::{DocumentKind, Issue};
use crate::rules::{self, Form, LONGEST_IDENTIFIER, Read, Rules, Slot, check_identifier};

/// Which model: the plugin, the provider within it and the model's name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Selection<'a> {
    pub(crate) plugin_id: Cow<'a, str>,
    pub(crate) provider: Cow<'a, str>,
    pub(crate) model: Cow<'a, str>,
}

impl Selection<'static> {
    /// A selection of three identifiers.
    ///
    /// # Errors
    ///
    /// Every way in which one of them is not an identifier.
    ///
    /// ```
    /// use space_profiles_core::snapshot::Selection;
    /// let selection = Selection::new("langgenius/openai", "openai", "gpt-4.1").unwrap();
    /// assert_eq!(selection.model(), "gpt-4.1");
    /// let issues = Selection::new("langgenius/openai", "", " gpt-4.1").unwrap_err();
    /// assert_eq!(issues.len(), 2);
    /// ```
    pub fn new(plugin_id: &str, provider: &str, model: &str) -> Result<Self, Vec<Issue>> {
        let mut rules = Rules::new(DocumentKind::Snapshot, Form::SNAPSHOT);
        for (name, text) in [("pluginId", plugin_id), ("provider", provider), ("model", model)] {
            check_identifier(text, &Path::ROOT.member(name), &mut rules, LONGEST_IDENTIFIER);
        }
        if rules.has_errors() {
            return Err(rules.issues);
        }
        Ok(Selection { plugin_id: plugin_id.into(), provider: provider.into(), model: model.into() }.into_owned())
    }
}

impl<'a> Selection<'a> {
    /// The plugin.
    pub fn plugin_id(&self) -> &str {
        &self.plugin_id
    }

    /// The provider within the plugin.
    pub fn provider(&self) -> &str {
        &self.provider
    }

    /// The model's name.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The same selection, which borrows from nothing.
    pub fn into_owned(self) -> Selection<'static> {
        Selection {
            plugin_id: Cow::Owned(self.plugin_id.into_owned()),
            provider: Cow::Owned(self.provider.into_owned()),
            model: Cow::Owned(self.model.into_owned()),
        }
    }

    pub(super) fn read(source: &mut impl Source<'a>, path: &Path<'_>, rules: &mut Rules) -> Read<Self> {
        if !rules::object(source, path, rules)? {
            return Ok(None);
        }
        let mut fields = SelectionFields::new();
        while let Some((key, member)) = member_of(source, &SelectionMember::NAMES)? {
            match member {
                Some(member) => fields.read(member, source, &path.member(&key), rules)?,
                None => rules.unknown(source, path, &key)?,
            }
        }
        Ok(fields.finish(path, rules))
    }

    /// The members, in canonical order, without the braces.
    pub(super) fn write_members(&self, out: &mut impl Out) {
        out.push_str("\"model\":\"");
        put_characters(out, &self.model);
        out.push_str("\",\"pluginId\":\"");
        put_characters(out, &self.plugin_id);
        out.push_str("\",\"provider\":\"");
        put_characters(out, &self.provider);
        out.push_str("\"");
    }

    pub(super) fn write(&self, out: &mut impl Out) {
        out.push_str("{");
        self.write_members(out);
        out.push_str("}");
    }
}

/// A member of a selection.
#[derive(Clone, Copy)]
pub(super) enum SelectionMember {
    PluginId,
    Provider,
    Model,
}

impl SelectionMember {
    const NAMES: [(&'static str, Self); 3] =
        [("pluginId", Self::PluginId), ("provider", Self::Provider), ("model", Self::Model)];
}

/// The three members of a selection while the object that holds them is read.
pub(super) struct SelectionFields<'a> {
    plugin_id: Slot<Cow<'a, str>>,
    provider: Slot<Cow<'a, str>>,
    model: Slot<Cow<'a, str>>,
}

impl<'a> SelectionFields<'a> {
    pub(super) const fn new() -> Self {
        Self { plugin_id: Slot::Missing, provider: Slot::Missing, model: Slot::Missing }
    }

    /// Reads the value of a member.
    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    pub(super) fn read(
        &mut self,
        member: SelectionMember,
        source: &mut impl Source<'a>,
        path: &Path<'_>,
        rules: &mut Rules,
    ) -> Result<(), Irregular> {
        let slot = match member {
            SelectionMember::PluginId => &mut self.plugin_id,
            SelectionMember::Provider => &mut self.provider,
            SelectionMember::Model => &mut self.model,
        };
        slot.fill_identifier(source, path, rules)
    }

    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    pub(super) fn finish(self, path: &Path<'_>, rules: &mut Rules) -> Option<Selection<'a>> {
        let model = self.model.required(rules, &path.member("model"));
        let plugin_id = self.plugin_id.required(rules, &path.member("pluginId"));
        let provider = self.provider.required(rules, &path.member("provider"));
        Some(Selection { plugin_id: plugin_id?, provider: provider?, model: model? })
    }
}
