//! The verbs of a forecaster.

use crate::fault::{Fault, Result};
use crate::forecaster::{admit, admit_horizon, Forecaster};
use crate::row::Scratch;

use super::{hold_boxed, Held};

hold_boxed!(Forecaster, "forecaster");

impl Held<Box<dyn Forecaster>> {
    /// Learn the value of the next time step.
    pub fn learn(&mut self, y: Option<f64>, scratch: &mut Scratch) -> Result<()> {
        let y = admit(&self.title, y)?;
        self.part.learn(y, None, scratch)?;
        self.count = self.count.saturating_add(1);
        Ok(())
    }

    /// Pass a time step whose value is missing; it does not count as learned.
    pub fn skip(&mut self, scratch: &mut Scratch) -> Result<()> {
        self.part.skip(None, scratch)
    }

    /// `learn` with each, up to one that is refused. With `skip` its time step is passed instead, so that those after it
    /// keep their season. Returns what was skipped, by row, and what ended it.
    pub fn learn_many(
        &mut self,
        ys: &[f64],
        skip: bool,
        scratch: &mut Scratch,
    ) -> (Vec<(usize, Fault)>, Option<Fault>) {
        let mut skipped = Vec::new();
        for (row, &y) in ys.iter().enumerate() {
            let Err(fault) = self.learn(Some(y), scratch) else { continue };
            if !skip {
                return (skipped, Some(fault.at_row(row)));
            }
            if let Err(fault) = self.skip(scratch) {
                return (skipped, Some(fault.at_row(row)));
            }
            skipped.push((row, fault.at_row(row)));
        }
        (skipped, None)
    }

    /// The forecasts of the next `horizon` time steps; `rows` is the number of rows of features that were given.
    pub fn forecast(&self, horizon: usize, rows: Option<usize>, scratch: &mut Scratch) -> Result<Vec<f64>> {
        admit_horizon(&self.title, horizon, rows)?;
        let mut out = Vec::new();
        self.part.forecast(horizon, None, &mut out, scratch)?;
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::held;
    use serde_json::json;

    fn naive() -> held::Forecaster {
        let description = json!({ "name": "time_series.SeasonalNaive", "parameters": { "period": 2 } });
        held::Forecaster::new(&description).expect("it is declared")
    }

    #[test]
    fn a_refused_value_ends_a_batch_or_passes_its_time_step() {
        let mut scratch = Scratch::default();
        let ys = [1.0, 2.0, f64::NAN, 4.0];
        let mut stopped = naive();
        let (skipped, fault) = stopped.learn_many(&ys, false, &mut scratch);
        assert_eq!((skipped.len(), fault.and_then(|fault| fault.row()), stopped.count()), (0, Some(2), 2));
        assert_eq!(stopped.forecast(2, None, &mut scratch).unwrap(), [1.0, 2.0]);
        let mut skipping = naive();
        let (skipped, fault) = skipping.learn_many(&ys, true, &mut scratch);
        assert_eq!((skipped.len(), skipped[0].0, fault.is_none(), skipping.count()), (1, 2, true, 3));
        assert_eq!(skipping.forecast(3, None, &mut scratch).unwrap(), [1.0, 4.0, 1.0]);
    }

    #[test]
    fn the_rows_of_features_are_as_many_as_the_steps() {
        let mut scratch = Scratch::default();
        assert_eq!(naive().forecast(2, Some(2), &mut scratch).unwrap(), [0.0; 2]);
        let fault = naive().forecast(2, Some(1), &mut scratch).unwrap_err();
        let words = "time_series.SeasonalNaive: xs must have one row per step of the horizon (2), got 1";
        assert_eq!(fault.message(), words);
    }
}
