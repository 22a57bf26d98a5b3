use super::selection::Selection;
use crate::json::{Out, Path, Source, member_of, put_integer, put_number};
use crate::numbers::{LARGEST_NUMBER, RevisionNumber, TopK};
use crate::report::IssueCode;
use crate::rules::{self, Read, Rules, Slot, boolean, choice, fraction, integer};

/// How a space is queried.
#[derive(Debug, Clone, PartialEq)]
pub struct Retrieval<'a> {
    pub(crate) default_mode: Mode,
    pub(crate) reasoning_model: Selection<'a>,
    pub(crate) rerank: Switch<Selection<'a>>,
    pub(crate) revision: RevisionNumber,
    pub(crate) score_threshold: ScoreThreshold,
    pub(crate) top_k: TopK,
}

/// How much work a query is worth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// `fast`
    Fast,
    /// `research`
    Research,
    /// `deep`
    Deep,
}

impl Mode {
    const WORDS: [(&'static str, Self); 3] =
        [("fast", Self::Fast), ("research", Self::Research), ("deep", Self::Deep)];

    /// The mode's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fast => "fast",
            Self::Research => "research",
            Self::Deep => "deep",
        }
    }
}

/// Something that is on and then has a value, or is off and may keep the value it had.
#[derive(Debug, Clone, PartialEq)]
pub enum Switch<T> {
    /// `enabled` is true.
    On(T),
    /// `enabled` is false.
    Off(Option<T>),
}

impl<T> Switch<T> {
    /// Whether it is on.
    pub const fn is_on(&self) -> bool {
        matches!(self, Self::On(_))
    }

    /// The value, whether on or off.
    pub const fn value(&self) -> Option<&T> {
        match self {
            Self::On(value) => Some(value),
            Self::Off(value) => value.as_ref(),
        }
    }

    fn map<U>(self, change: impl FnOnce(T) -> U) -> Switch<U> {
        match self {
            Self::On(value) => Switch::On(change(value)),
            Self::Off(value) => Switch::Off(value.map(change)),
        }
    }
}

/// Below which score a result is dropped, and when.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoreThreshold {
    pub(crate) value: Switch<f64>,
    pub(crate) stage: Stage,
}

/// When the score is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// `mode-final`
    ModeFinal,
    /// `rerank`
    Rerank,
}

impl Stage {
    const WORDS: [(&'static str, Self); 2] = [("mode-final", Self::ModeFinal), ("rerank", Self::Rerank)];

    /// The stage's name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ModeFinal => "mode-final",
            Self::Rerank => "rerank",
        }
    }
}

/// The members of a retrieval snapshot of which the revision may still have to be filled in.
#[derive(Debug, Clone)]
pub(super) struct RetrievalFields<'a> {
    pub(super) default_mode: Mode,
    pub(super) reasoning_model: Selection<'a>,
    pub(super) rerank: Switch<Selection<'a>>,
    pub(super) revision: Option<RevisionNumber>,
    pub(super) score_threshold: ScoreThreshold,
    pub(super) top_k: TopK,
}

#[derive(Clone, Copy)]
enum Member {
    DefaultMode,
    ReasoningModel,
    Rerank,
    Revision,
    ScoreThreshold,
    TopK,
}

impl Member {
    const NAMES: [(&'static str, Self); 6] = [
        ("defaultMode", Self::DefaultMode),
        ("reasoningModel", Self::ReasoningModel),
        ("rerank", Self::Rerank),
        ("revision", Self::Revision),
        ("scoreThreshold", Self::ScoreThreshold),
        ("topK", Self::TopK),
    ];
}

impl<'a> RetrievalFields<'a> {
    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    pub(super) fn read(source: &mut impl Source<'a>, rules: &mut Rules) -> Read<Self> {
        let path = &Path::ROOT;
        if !rules::object(source, path, rules)? {
            return Ok(None);
        }
        let mut default_mode = Slot::Missing;
        let mut reasoning_model = Slot::Missing;
        let mut rerank = Slot::Missing;
        let mut revision = Slot::Missing;
        let mut score_threshold = Slot::Missing;
        let mut top_k = Slot::Missing;
        while let Some((key, member)) = member_of(source, &Member::NAMES)? {
            let at = path.member(&key);
            match member {
                Some(Member::DefaultMode) => {
                    default_mode.fill(source, |source| choice(source, &at, rules, &Mode::WORDS))?;
                }
                Some(Member::ReasoningModel) => {
                    reasoning_model.fill(source, |source| Selection::read(source, &at, rules))?;
                }
                Some(Member::Rerank) => rerank.fill(source, |source| read_rerank(source, &at, rules))?,
                Some(Member::Revision) => {
                    revision.fill(source, |source| integer(source, &at, rules, LARGEST_NUMBER))?;
                }
                Some(Member::ScoreThreshold) => {
                    score_threshold.fill(source, |source| read_score_threshold(source, &at, rules))?;
                }
                Some(Member::TopK) => {
                    top_k.fill(source, |source| integer(source, &at, rules, TopK::LAST.get()))?;
                }
                None => rules.unknown(source, path, &key)?,
            }
        }
        let default_mode = default_mode.required(rules, &path.member("defaultMode"));
        let reasoning_model = reasoning_model.required(rules, &path.member("reasoningModel"));
        let rerank = rerank.required(rules, &path.member("rerank"));
        let at_threshold = path.member("scoreThreshold");
        let score_threshold = score_threshold.required(rules, &at_threshold);
        let top_k = top_k.required(rules, &path.member("topK"));
        if let (Some(mode @ (Mode::Fast | Mode::Deep)), Some(rerank), Some(threshold)) =
            (default_mode, &rerank, &score_threshold)
            && threshold.is_on
            && !rerank.is_on
        {
            rules.issue(
                &at_threshold,
                IssueCode::ScoreThresholdRequiresRerank,
                format!(
                    "expected rerank to be enabled, since mode `{}` compares scores after reranking; \
                     enable rerank or disable the threshold",
                    mode.as_str()
                ),
            );
        }
        let revision = rules.required_when_complete(revision, &path.member("revision"));
        let (Some(rerank), Some(threshold), Some(revision)) = (rerank, score_threshold, revision) else {
            return Ok(None);
        };
        let fields = (default_mode, reasoning_model, rerank.switch, threshold.switch);
        let (Some(default_mode), Some(reasoning_model), Some(rerank), Some((value, stage))) = fields else {
            return Ok(None);
        };
        let revision = revision.and_then(RevisionNumber::of);
        let top_k = top_k.and_then(TopK::of);
        let score_threshold = ScoreThreshold { value, stage };
        Ok(top_k.map(|top_k| Self { default_mode, reasoning_model, rerank, revision, score_threshold, top_k }))
    }

    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    pub(super) fn numbered(self, revision: RevisionNumber) -> Retrieval<'a> {
        Retrieval {
            default_mode: self.default_mode,
            reasoning_model: self.reasoning_model,
            rerank: self.rerank,
            revision,
            score_threshold: self.score_threshold,
            top_k: self.top_k,
        }
    }

    /// The profile, if nothing is left to fill in.
    #[cfg_attr(not(target_arch = "wasm32"), inline(always))]
    pub(super) fn complete(self) -> Option<Retrieval<'a>> {
        let revision = self.revision?;
        Some(self.numbered(revision))
    }

    pub(super) fn into_owned(self) -> RetrievalFields<'static> {
        RetrievalFields {
            reasoning_model: self.reasoning_model.into_owned(),
            rerank: self.rerank.map(Selection::into_owned),
            default_mode: self.default_mode,
            revision: self.revision,
            score_threshold: self.score_threshold,
            top_k: self.top_k,
        }
    }
}

/// A switch of which the position is known, and the rest if it is valid: the rule across fields needs only
/// the position.
struct Position<T> {
    is_on: bool,
    switch: Option<T>,
}

fn switch<T>(is_on: bool, value: Option<T>, rules: &mut Rules, path: &Path<'_>) -> Option<Switch<T>> {
    match (is_on, value) {
        (false, value) => Some(Switch::Off(value)),
        (true, Some(value)) => Some(Switch::On(value)),
        (true, None) => {
            rules.issue(path, IssueCode::RequiredWhenEnabled, "expected this field, since `enabled` is true");
            None
        }
    }
}

fn read_rerank<'a>(
    source: &mut impl Source<'a>,
    path: &Path<'_>,
    rules: &mut Rules,
) -> Read<Position<Switch<Selection<'a>>>> {
    if !rules::object(source, path, rules)? {
        return Ok(None);
    }
    let mut enabled = Slot::Missing;
    let mut model = Slot::Missing;
    while let Some(key) = source.member()? {
        let at = path.member(&key);
        match key.as_ref() {
            "enabled" => enabled.fill(source, |source| boolean(source, &at, rules))?,
            "model" => model.fill(source, |source| Selection::read(source, &at, rules))?,
            _ => rules.unknown(source, path, &key)?,
        }
    }
    let Some(is_on) = enabled.required(rules, &path.member("enabled")) else {
        return Ok(None);
    };
    let switch = model.optional().and_then(|model| switch(is_on, model, rules, &path.member("model")));
    Ok(Some(Position { is_on, switch }))
}

fn read_score_threshold<'a>(
    source: &mut impl Source<'a>,
    path: &Path<'_>,
    rules: &mut Rules,
) -> Read<Position<(Switch<f64>, Stage)>> {
    if !rules::object(source, path, rules)? {
        return Ok(None);
    }
    let mut enabled = Slot::Missing;
    let mut stage = Slot::Missing;
    let mut value = Slot::Missing;
    while let Some(key) = source.member()? {
        let at = path.member(&key);
        match key.as_ref() {
            "enabled" => enabled.fill(source, |source| boolean(source, &at, rules))?,
            "stage" => stage.fill(source, |source| choice(source, &at, rules, &Stage::WORDS))?,
            "value" => value.fill(source, |source| fraction(source, &at, rules))?,
            _ => rules.unknown(source, path, &key)?,
        }
    }
    let enabled = enabled.required(rules, &path.member("enabled"));
    let stage = stage.required(rules, &path.member("stage"));
    let Some(is_on) = enabled else {
        return Ok(None);
    };
    let value = value.optional().and_then(|value| switch(is_on, value, rules, &path.member("value")));
    Ok(Some(Position { is_on, switch: value.zip(stage) }))
}

impl Retrieval<'_> {
    /// How much work a query is worth unless it says otherwise.
    pub const fn default_mode(&self) -> Mode {
        self.default_mode
    }

    /// The model that plans and answers.
    pub const fn reasoning_model(&self) -> &Selection<'_> {
        &self.reasoning_model
    }

    /// Whether results are reranked, and by which model.
    pub const fn rerank(&self) -> &Switch<Selection<'_>> {
        &self.rerank
    }

    /// The revision.
    pub const fn revision(&self) -> RevisionNumber {
        self.revision
    }

    /// Whether results below a score are dropped.
    pub const fn score_threshold(&self) -> &ScoreThreshold {
        &self.score_threshold
    }

    /// How many results are kept.
    pub const fn top_k(&self) -> TopK {
        self.top_k
    }

    pub(super) fn into_owned(self) -> Retrieval<'static> {
        Retrieval {
            default_mode: self.default_mode,
            reasoning_model: self.reasoning_model.into_owned(),
            rerank: self.rerank.map(Selection::into_owned),
            revision: self.revision,
            score_threshold: self.score_threshold,
            top_k: self.top_k,
        }
    }

    pub(super) fn write(&self, out: &mut impl Out) {
        out.push_str("{\"defaultMode\":\"");
        out.push_str(self.default_mode.as_str());
        out.push_str("\",\"reasoningModel\":");
        self.reasoning_model.write(out);
        out.push_str(",\"rerank\":{\"enabled\":");
        out.push_str(if self.rerank.is_on() { "true" } else { "false" });
        if let Some(model) = self.rerank.value() {
            out.push_str(",\"model\":");
            model.write(out);
        }
        out.push_str("},\"revision\":");
        put_integer(out, self.revision.get().into());
        out.push_str(",\"scoreThreshold\":{\"enabled\":");
        out.push_str(if self.score_threshold.value.is_on() { "true" } else { "false" });
        out.push_str(",\"stage\":\"");
        out.push_str(self.score_threshold.stage.as_str());
        out.push_str("\"");
        if let Some(value) = self.score_threshold.value.value() {
            out.push_str(",\"value\":");
            put_number(out, *value);
        }
        out.push_str("},\"topK\":");
        put_integer(out, self.top_k.get().into());
        out.push_str("}");
    }
}

impl ScoreThreshold {
    /// The score, from 0 to 1.
    pub const fn value(&self) -> &Switch<f64> {
        &self.value
    }

    /// When the score is compared.
    pub const fn stage(&self) -> Stage {
        self.stage
    }
}
