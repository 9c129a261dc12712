//! What the errors of a model mean for it, by one detector of change or two.
//!
//! Without a detector of warnings of its own, those of the detector count, and pass; the changes that a second one finds
//! are warnings that do not pass.

use crate::ensemble::bagged::Detector;
use crate::fault::{Fault, Result};
use crate::parameter::Arguments;

/// Errors beyond this are told as this: no detector refuses it, and it is a change to each.
const LARGEST_ERROR: f64 = 1e100;

/// What an error means for the models.
pub enum Advice {
    /// All is well: what grows in the background is not needed.
    Well,
    /// Stay as it is.
    Nothing,
    /// Grow another model, if there is none.
    Grow,
    /// Grow another model anew.
    GrowAnew,
    Replace,
}

#[derive(Clone)]
pub struct Adviser {
    pub detector: Detector,
    pub warner: Option<Detector>,
    warm: bool,
    /// How many errors the detectors have counted.
    pub told: u64,
    pub warner_told: u64,
}

impl Adviser {
    pub fn new(arguments: &Arguments<'_>) -> Result<Self> {
        let warm = arguments.boolean("warm")?;
        let warner = Detector::given(arguments, "warning_detector")?.map(Detector::without_warnings);
        let detector = Detector::given(arguments, "detector")?.ok_or_else(|| arguments.absent("detector"))?;
        let detector = if warm && warner.is_none() { detector } else { detector.without_warnings() };
        Ok(Adviser { detector, warner, warm, told: 0, warner_told: 0 })
    }

    /// Refuse detectors of a classifier's errors: those of a regressor are of any size.
    pub fn takes_any_size(&self, who: &str) -> Result<()> {
        for (what, watched) in [("detector", Some(&self.detector)), ("warning_detector", self.warner.as_ref())] {
            if watched.is_some_and(|Detector(watched)| watched.duplicate().update(2.0).is_err()) {
                return Err(Fault::wrong_type(format!(
                    "{who}: {what} must take numbers of any size for a regressor, such as drift.ADWIN or \
                     drift.PageHinkley; it takes the errors of a classifier"
                )));
            }
        }
        Ok(())
    }

    pub fn tell(&mut self, error: f64) -> Advice {
        let error = error.min(LARGEST_ERROR);
        // A detector that refuses such a number has not counted it, which is all that can be done.
        let Detector(detector) = &mut self.detector;
        self.told = self.told.saturating_add(u64::from(detector.update(error).is_ok()));
        let verdict = detector.verdict();
        if verdict.drift {
            if !verdict.is_worse() {
                return Advice::Nothing;
            }
            if let Some(Detector(warner)) = &mut self.warner {
                warner.reset();
                self.warner_told = 0;
            }
            return Advice::Replace;
        }
        if !self.warm {
            return Advice::Nothing;
        }
        if let Some(Detector(warner)) = &mut self.warner {
            self.warner_told = self.warner_told.saturating_add(u64::from(warner.update(error).is_ok()));
            return match warner.verdict().is_worse() {
                true => Advice::GrowAnew,
                false => Advice::Nothing,
            };
        }
        match verdict.may_be_worse() {
            true => Advice::Grow,
            false => Advice::Well,
        }
    }
}
