//! The verbs of a held statistic.
//!
//! A nominal statistic receives strings and bools as numbers: the code of a label counts down from the largest negative
//! float. Other numbers stay as they are, so that wrappers and windows need not know about labels.

use crate::fault::{Fault, Result, Shown};
use crate::labels::{Label, Labels};
use crate::merging::Merger;
use crate::statistic::Statistic;

use super::{hold_boxed, Held};

hold_boxed!(
    Statistic,
    "statistic",
    fn merge(&mut self, merger: &Merger<'_>, _labels: &Labels) -> Result<()> {
        for (side, sign) in merger.sides() {
            let mut theirs = self.clone();
            theirs.part_mut().load(side.state)?;
            theirs.recode(&mut |x| match code_of(x).and_then(|code| side.codes.get(code as usize)) {
                Some(&code) => coded(code),
                None => x,
            });
            let state = theirs.part().save()?;
            match sign > 0.0 {
                true => (**self).merge(&state)?,
                false => (**self).merge_base(&state)?,
            }
        }
        Ok(())
    }
);

/// The largest number of distinct strings.
const MOST_LABELS: usize = 1 << 20;

/// A number, or a string or bool for a nominal statistic.
#[derive(Clone, Debug)]
pub enum Observed {
    Number(f64),
    Label(Label),
}

/// The number that stands for a label.
fn coded(code: u32) -> f64 {
    f64::from_bits((-f64::MAX).to_bits() - u64::from(code))
}

/// The code of the label that a number stands for.
fn code_of(x: f64) -> Option<u32> {
    let below = (-f64::MAX).to_bits().checked_sub(x.to_bits())?;
    (x < 0.0 && below < MOST_LABELS as u64).then_some(below as u32)
}

impl Held<Box<dyn Statistic>> {
    pub fn statistic(&self) -> &dyn Statistic {
        &*self.part
    }

    pub fn get(&self) -> f64 {
        self.part.get()
    }

    /// The label that the value stands for.
    pub fn get_label(&self) -> Option<&Label> {
        code_of(self.part.get()).and_then(|code| self.labels.get(code))
    }

    /// Statistics of one variable ignore `y`.
    #[inline]
    pub fn update(&mut self, x: f64, y: f64, w: f64) -> Result<()> {
        if !(x.is_finite() && y.is_finite() && (0.0..f64::INFINITY).contains(&w)) {
            return Err(self.refusal(x, y, w));
        }
        if w > 0.0 {
            self.part.update(x, y, w)?;
            self.count = self.count.saturating_add(1);
        }
        Ok(())
    }

    /// `update` for a number with a time.
    #[inline]
    pub fn update_at(&mut self, x: f64, y: f64, w: f64, time: f64) -> Result<()> {
        if !(x.is_finite() && y.is_finite() && (0.0..f64::INFINITY).contains(&w)) {
            return Err(self.refusal(x, y, w));
        }
        if !time.is_finite() {
            return Err(Fault::value(format!("{}: t must be finite, got {}", self.title, Shown(time))));
        }
        if w > 0.0 {
            self.part.update_at(x, y, w, time)?;
            self.count = self.count.saturating_add(1);
        }
        Ok(())
    }

    /// `update` or `update_at` for values that may be labels.
    pub fn observe(&mut self, x: &Observed, y: &Observed, w: f64, time: Option<f64>) -> Result<()> {
        let mark = self.labels.mark();
        let first = self.code(x)?;
        let middle = self.labels.mark();
        let done = self.code(y).and_then(|second| {
            let done = match time {
                Some(time) => self.update_at(first, second, w, time),
                None => self.update(first, second, w),
            };
            // A weight of 0 leaves no trace either.
            if let (true, Some(code)) = (done.is_err() || w == 0.0, code_of(second)) {
                self.labels.rollback(middle, code);
            }
            done
        });
        if let (true, Some(code)) = (done.is_err() || w == 0.0, code_of(first)) {
            self.labels.rollback(mark, code);
        }
        done
    }

    fn code(&mut self, value: &Observed) -> Result<f64> {
        match value {
            Observed::Number(x) if code_of(*x).is_some() && self.part.is_nominal() => {
                Err(Fault::value(format!("{}: numbers near the largest float stand for labels", self.title)))
            }
            Observed::Number(x) => Ok(*x),
            Observed::Label(label) => match self.labels.code(label) {
                Some(code) => Ok(coded(code)),
                None if self.labels.len() >= MOST_LABELS => {
                    Err(Fault::value(format!("{}: there are more than {MOST_LABELS} distinct values", self.title)))
                }
                None => Ok(coded(self.labels.intern(label))),
            },
        }
    }

    /// Remove a number that was added before.
    pub fn revert(&mut self, x: f64, y: f64, w: f64) -> Result<()> {
        if !(x.is_finite() && y.is_finite() && (0.0..f64::INFINITY).contains(&w)) {
            return Err(self.refusal(x, y, w));
        }
        if !self.part.invertible() {
            let title = &self.title;
            let hint = if title.contains("Rolling") { "" } else { "; use stats.Rolling for a window" };
            return Err(Fault::value(format!("{title}: a number cannot be removed{hint}")));
        }
        if w > 0.0 {
            self.part.update(x, y, -w)?;
            self.count = self.count.saturating_sub(1);
        }
        Ok(())
    }

    /// The fault of an update with invalid numbers.
    #[cold]
    fn refusal(&self, x: f64, y: f64, w: f64) -> Fault {
        let title = &self.title;
        Fault::value(if !(0.0..f64::INFINITY).contains(&w) {
            format!("{title}: the weight must be finite and not negative, got {w}")
        } else if !x.is_finite() {
            format!("{title}: x must be finite, got {x}")
        } else {
            format!("{title}: y must be finite, got {y}")
        })
    }

    /// Remove a part of the stream: the inverse of `merge`.
    pub fn unmerge(&mut self, other: &Self) -> Result<()> {
        self.check_same(other)?;
        self.part.unmerge(&other.part.save()?).map_err(|fault| fault.by(&self.title))?;
        self.count = self.count.saturating_sub(other.count);
        Ok(())
    }

    fn check_same(&self, other: &Self) -> Result<()> {
        match self.description == other.description {
            true => Ok(()),
            false => Err(Fault::value(format!("{}: only the same statistic can be merged", self.title))),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(text: &str) -> Observed {
        Observed::Label(Label::Text(text.into()))
    }

    #[test]
    fn labels_are_numbers_for_a_statistic() {
        for code in [0, 1, 77, MOST_LABELS as u32 - 1] {
            assert_eq!(code_of(coded(code)), Some(code));
        }
        assert_eq!(code_of(-1e308), None);
        assert_eq!(code_of(f64::MAX), None);
        let mut mode = Held::<Box<dyn Statistic>>::new(&json!({ "name": "stats.Mode" })).expect("declared");
        for label in ["rain", "sun", "sun"] {
            mode.observe(&text(label), &Observed::Number(0.0), 1.0, None).expect("a good label");
        }
        assert_eq!(mode.get_label(), Some(&Label::Text("sun".into())));
        let before = mode.save().expect("a state");
        assert!(mode.observe(&text("snow"), &Observed::Number(0.0), -1.0, None).is_err());
        mode.observe(&text("snow"), &Observed::Number(0.0), 0.0, None).expect("no weight");
        assert_eq!(mode.save().expect("a state"), before);
    }
}
