use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use space_profiles_worker::{Event, Observer, RowOutcome};

/// Shows on a terminal's standard error how far long work has come; elsewhere nothing.
pub(super) struct Progress(ProgressBar);

impl Progress {
    /// Counts up, with a name for what is counted.
    pub(super) fn counting(what: &'static str) -> Self {
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {pos} {msg} ({elapsed})") {
            bar.set_style(style);
        }
        bar.set_message(what);
        bar.enable_steady_tick(Duration::from_millis(120));
        Self(bar)
    }

    /// Goes towards `total`.
    pub(super) fn towards(total: u64, what: &'static str) -> Self {
        let bar = ProgressBar::new(total);
        let template = "{bar:40} {pos}/{len} {msg} ({elapsed}, {eta} left)";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(what);
        Self(bar)
    }

    pub(super) fn at(&self, position: u64) {
        self.0.set_position(position);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

impl Observer for Progress {
    fn on_event(&self, event: &Event<'_>) {
        if let Event::Finished { outcome, .. } = event
            && !matches!(outcome, RowOutcome::Queued { .. } | RowOutcome::Released | RowOutcome::LeaseLost)
        {
            self.0.inc(1);
        }
    }
}
