use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use space_profiles_worker::{Event, Observer, RowOutcome};

/// Shows on a terminal's standard error how far long work has come; elsewhere nothing.
pub(super) struct Progress {
    bar: ProgressBar,
    /// How much work there was before any was discovered; none if all of it is known from the start.
    waiting: Option<u64>,
}

impl Progress {
    /// Counts up, with a name for what is counted.
    pub(super) fn counting(what: &'static str) -> Self {
        let bar = styled(ProgressBar::new_spinner(), "{spinner} {pos} {msg} ({elapsed})", what);
        bar.enable_steady_tick(Duration::from_millis(120));
        Self { bar, waiting: None }
    }

    /// Goes towards `total`.
    pub(super) fn towards(total: u64, what: &'static str) -> Self {
        let bar = styled(ProgressBar::new(total), "{bar:40} {pos}/{len} {msg} ({elapsed}, {eta} left)", what);
        Self { bar, waiting: None }
    }

    /// Goes towards what waits already and what will be discovered.
    pub(super) fn growing_from(waiting: u64, what: &'static str) -> Self {
        let mut progress = Self::towards(waiting, what);
        progress.waiting = Some(waiting);
        progress
    }

    /// Says how far it has come.
    pub(super) fn at(&self, position: u64) {
        self.bar.set_position(position);
    }
}

fn styled(bar: ProgressBar, template: &str, what: &'static str) -> ProgressBar {
    bar.set_message(what);
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for Progress {
    fn on_event(&self, event: &Event<'_>) {
        match event {
            Event::Discovered { created, .. } => {
                if let Some(waiting) = self.waiting {
                    self.bar.set_length(waiting + created);
                }
            }
            Event::Finished { outcome, .. } if is_final(outcome) => self.bar.inc(1),
            _ => {}
        }
    }
}

/// Whether a row that this run let go of is not to be worked on again.
fn is_final(outcome: &RowOutcome) -> bool {
    matches!(outcome, RowOutcome::Installed | RowOutcome::AlreadyInstalled | RowOutcome::Failed(_))
}
