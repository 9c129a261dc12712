//! The errors of a model, monitored by one or two drift detectors, and the action that follows for the model.
//!
//! Without a warning detector, the warnings of the drift detector count, and they may pass. The drifts that a separate
//! warning detector finds are warnings that do not pass.

use crate::ensemble::bagged::Detector;
use crate::fault::{Fault, Result};
use crate::parameter::Arguments;

/// Larger errors are clipped to this value, which every detector accepts.
const LARGEST_ERROR: f64 = 1e100;

/// What to do with the model and its background model after an error.
pub enum Action {
    /// The stream is stable: drop the background model.
    DropBackground,
    Keep,
    /// Start a background model, if there is none.
    StartBackground,
    /// Replace the background model by a new one.
    RestartBackground,
    /// Replace the model by the background model.
    Replace,
}

#[derive(Clone)]
pub struct ErrorMonitor {
    pub detector: Detector,
    pub warning_detector: Option<Detector>,
    warm: bool,
    /// Count of errors that each detector has received.
    pub updates: u64,
    pub warning_updates: u64,
}

impl ErrorMonitor {
    pub fn new(arguments: &Arguments<'_>) -> Result<Self> {
        let warm = arguments.boolean("warm")?;
        let warning_detector = Detector::given(arguments, "warning_detector")?.map(Detector::without_warnings);
        let detector = Detector::given(arguments, "detector")?.ok_or_else(|| arguments.absent("detector"))?;
        let detector = if warm && warning_detector.is_none() { detector } else { detector.without_warnings() };
        Ok(ErrorMonitor { detector, warning_detector, warm, updates: 0, warning_updates: 0 })
    }

    /// Reject detectors that accept only the errors of a classifier: those of a regressor have any size.
    pub fn require_any_size(&self, who: &str) -> Result<()> {
        for (what, given) in
            [("detector", Some(&self.detector)), ("warning_detector", self.warning_detector.as_ref())]
        {
            if given.is_some_and(|Detector(detector)| detector.duplicate().update(2.0).is_err()) {
                return Err(Fault::wrong_type(format!(
                    "{who}: {what} must accept numbers of any size for a regressor, such as drift.ADWIN or \
                     drift.PageHinkley; this one accepts the errors of a classifier"
                )));
            }
        }
        Ok(())
    }

    pub fn update(&mut self, error: f64) -> Action {
        let error = error.min(LARGEST_ERROR);
        // A detector that rejects the number skips it.
        let Detector(detector) = &mut self.detector;
        self.updates = self.updates.saturating_add(u64::from(detector.update(error).is_ok()));
        let verdict = detector.verdict();
        if verdict.drift {
            if !verdict.is_worse() {
                return Action::Keep;
            }
            if let Some(Detector(warning_detector)) = &mut self.warning_detector {
                warning_detector.reset();
                self.warning_updates = 0;
            }
            return Action::Replace;
        }
        if !self.warm {
            return Action::Keep;
        }
        if let Some(Detector(warning_detector)) = &mut self.warning_detector {
            let updated = warning_detector.update(error).is_ok();
            self.warning_updates = self.warning_updates.saturating_add(u64::from(updated));
            return match warning_detector.verdict().is_worse() {
                true => Action::RestartBackground,
                false => Action::Keep,
            };
        }
        match verdict.may_be_worse() {
            true => Action::StartBackground,
            false => Action::DropBackground,
        }
    }
}
