//! Learning a column of values, each with the component of its key: forecasters and drift detectors.

use crate::detector::DriftDetector;
use crate::fault::{Fault, FaultKind, Result};
use crate::forecaster::Forecaster;
use crate::held::{Held, Holdable};
use crate::key::Key;
use crate::row::Scratch;

use super::{KeyColumn, Keyed};

/// Number of values between two questions whether to stop: about a millisecond.
const BETWEEN_STOPS: usize = 1 << 12;

/// A column of values with keys.
pub struct ValuesJob<'a> {
    pub keys: &'a dyn KeyColumn,
    pub values: &'a [f64],
    /// By value; NaN for none.
    pub times: Option<&'a [f64]>,
    /// Whether values that are refused are skipped and counted.
    pub skip: bool,
    /// Whether to give up.
    pub stops: &'a dyn Fn() -> bool,
}

/// What became of a column of values.
#[derive(Debug, Default)]
pub struct ValuesRun {
    /// The rows at which something was found.
    pub found: Vec<usize>,
    pub skipped: Vec<(usize, Fault)>,
}

impl<P: Holdable> Keyed<P> {
    /// Learn all values in their order, or none: a fault has the row of the first value that is refused. `work` learns one
    /// value, and returns whether something was found and the error of a prediction.
    fn learn_values(
        &self,
        job: &ValuesJob<'_>,
        mut work: impl FnMut(&mut Held<P>, f64) -> Result<(bool, Option<f64>)>,
    ) -> Result<ValuesRun> {
        let session = self.session();
        self.savepoint(&session);
        let mut run = ValuesRun::default();
        let done = job.values.iter().enumerate().try_for_each(|(row, &value)| {
            if row % BETWEEN_STOPS == BETWEEN_STOPS - 1 && (job.stops)() {
                return Err(Fault::value("the job was stopped"));
            }
            let time = job.times.map_or(f64::NAN, |times| times[row]);
            match self.change(&session, job.keys.at(row), time, |held| work(held, value)) {
                Ok(true) => run.found.push(row),
                Ok(false) => {}
                // A fault of the spill file is not one of the value.
                Err(fault) if job.skip && fault.kind() != FaultKind::State => run.skipped.push((row, fault)),
                Err(fault) => return Err(fault.at_row(row)),
            }
            Ok(())
        });
        self.end(&session, done.is_ok());
        done.map(|()| run)
    }
}

impl Keyed<Box<dyn Forecaster>> {
    /// Learn values, each the next of the series of its key. The error of a value is the absolute one of the forecast one
    /// step before. With `skip` a value that is refused is a time step without a value, as for one forecaster.
    pub fn learn_series(&self, job: &ValuesJob<'_>) -> Result<ValuesRun> {
        let (mut scratch, mut forecasts) = (Scratch::default(), Vec::new());
        let mut run = self.learn_values(job, |held, value| {
            let mut error = None;
            if held.count() > 0 && value.is_finite() {
                forecasts.clear();
                held.part.forecast(1, None, &mut forecasts, &mut scratch)?;
                error = forecasts.first().map(|forecast| (forecast - value).abs());
            }
            match held.learn(Some(value), &mut scratch) {
                Err(_) if job.skip => held.skip(&mut scratch).map(|()| (true, None)),
                learned => learned.map(|()| (false, error)),
            }
        })?;
        let passed = std::mem::take(&mut run.found);
        run.skipped.extend(passed.into_iter().map(|row| (row, Fault::value("the value is missing"))));
        Ok(run)
    }

    /// Pass a time step of a key without a value.
    pub fn skip_step(&self, key: Key<'_>, time: f64) -> Result<()> {
        let mut scratch = Scratch::default();
        self.change(&self.session(), key, time, |held| held.skip(&mut scratch).map(|()| ((), None)))
    }

    /// The forecasts of the next time steps of a key; those of the template for an unknown one.
    pub fn forecast(&self, key: Key<'_>, horizon: usize) -> Result<Vec<f64>> {
        self.ask(key, |held| held.forecast(horizon, None, &mut Scratch::default()))
    }
}

impl Keyed<Box<dyn DriftDetector>> {
    /// Update the detectors of keys; the rows at which drift was detected are found. The error of a value is 1 at drift.
    pub fn update_many(&self, job: &ValuesJob<'_>) -> Result<ValuesRun> {
        self.learn_values(job, |held, value| {
            held.update(value)?;
            let drift = held.detector().verdict().drift;
            Ok((drift, Some(f64::from(drift))))
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Limits;
    use super::*;

    struct Ints(Vec<i64>);

    impl KeyColumn for Ints {
        fn at(&self, row: usize) -> Key<'_> {
            Key::Int(self.0[row])
        }
    }

    fn job<'a>(keys: &'a Ints, values: &'a [f64], skip: bool) -> ValuesJob<'a> {
        ValuesJob { keys, values, times: None, skip, stops: &|| false }
    }

    fn naive() -> Keyed<Box<dyn Forecaster>> {
        let held = Held::new(&json!({"name": "time_series.SeasonalNaive", "parameters": {"period": 2}}));
        Keyed::new(held.expect("a forecaster"), Limits::default(), false, None)
    }

    #[test]
    fn each_key_has_a_series() {
        let keyed = naive();
        keyed
            .learn_series(&job(&Ints(vec![1, 2, 1, 2, 1]), &[10.0, 50.0, 11.0, 51.0, 13.0], false))
            .expect("values");
        // The values one period ago of keys 1 and 2.
        assert_eq!(keyed.forecast(Key::Int(1), 3).expect("a horizon"), [11.0, 13.0, 11.0]);
        assert_eq!(keyed.forecast(Key::Int(2), 2).expect("a horizon"), [50.0, 51.0]);
        // |10 - 11|, and |10 - 13|, which is the value two steps before: the mean is 2.
        assert_eq!(keyed.facts(Key::Int(1)).and_then(|facts| facts.mean_error()), Some(2.0));
    }

    #[test]
    fn a_refused_value_reverts_all_or_passes_a_step() {
        let keyed = naive();
        let keys = Ints(vec![1, 1, 2]);
        let fault = keyed.learn_series(&job(&keys, &[1.0, f64::NAN, 3.0], false)).expect_err("a missing value");
        assert_eq!((fault.row(), keyed.len()), (Some(1), 0));
        let run = keyed.learn_series(&job(&keys, &[1.0, f64::NAN, 3.0], true)).expect("it is skipped");
        assert_eq!((run.skipped.len(), run.skipped[0].0, keyed.len()), (1, 1, 2));
    }

    #[test]
    fn drift_is_found_by_key() {
        let held = Held::new(&json!({"name": "drift.ADWIN", "parameters": {}})).expect("a detector");
        let keyed: Keyed<Box<dyn DriftDetector>> = Keyed::new(held, Limits::default(), false, None);
        let keys = Ints((0..4000).map(|row| row % 2).collect());
        // The mean of key 0 changes at row 2000.
        let values: Vec<f64> = (0..4000)
            .map(|row| f64::from(u8::from(row % 2 == 0 && row >= 2000)) + 0.01 * (row % 5) as f64)
            .collect();
        let run = keyed.update_many(&job(&keys, &values, false)).expect("numbers");
        assert!(!run.found.is_empty() && run.found.iter().all(|row| row % 2 == 0 && *row >= 2000), "{run:?}");
    }
}
