//! Forecasters: they learn the values of a series in order, and forecast the next ones. The trait, and its verbs when
//! it is held.

use crate::batch::Rows;
use crate::fault::{Fault, FaultKind, Result, Shown};
use crate::held::{hold_boxed, Held};
use crate::part::Part;
use crate::row::{Row, Scratch};

/// The longest horizon. The forecasts are held in memory together, so that a typo must not fill it.
pub const MAX_HORIZON: usize = 1 << 24;

/// State of forecasters that add and subtract stays within this size: sums of a few such numbers are finite.
pub const LIMIT: f64 = f64::MAX / 4.0;

/// Learns a series, one value per time step, and forecasts the values that follow the last one.
///
/// A series is regular: each call of `learn` or `skip` is one time step. There are no weights, because a value cannot
/// occur twice at one time.
pub trait Forecaster: Part {
    /// Learn the value of the next time step, which `admit` has checked, with the features of that step. After a fault
    /// the state is bit for bit what it was.
    fn learn(&mut self, y: f64, x: Option<Row<'_>>, scratch: &mut Scratch) -> Result<()>;

    /// Pass a time step whose value is missing, as if its value were the forecast. Does nothing before the first value:
    /// the series starts there.
    fn skip(&mut self, x: Option<Row<'_>>, scratch: &mut Scratch) -> Result<()>;

    /// Write the forecasts of the next `horizon` time steps to `out`: finite, also before anything was learned. `xs`
    /// has the features of these steps. `admit_horizon` has checked both.
    fn forecast(
        &self,
        horizon: usize,
        xs: Option<Rows<'_>>,
        out: &mut Vec<f64>,
        scratch: &mut Scratch,
    ) -> Result<()>;

    fn duplicate(&self) -> Box<dyn Forecaster>;
}

/// A value that a forecaster may learn; a missing one (none, or NaN) is refused, because only the caller knows whether
/// its time step passed.
pub fn admit(who: &str, y: Option<f64>) -> Result<f64> {
    match y {
        Some(y) if y.is_finite() => Ok(y),
        Some(y) if !y.is_nan() => Err(Fault::value(format!("{who}: y must be finite, got {}", Shown(y)))),
        _ => Err(Fault::value(format!(
            "{who}: y must be a finite number, got a missing value (call skip_one for a time step without one)"
        ))),
    }
}

/// Check a horizon, and that there is one row of features, if any, for each of its time steps.
pub fn admit_horizon(who: &str, horizon: usize, rows: Option<usize>) -> Result<()> {
    if horizon == 0 || horizon > MAX_HORIZON {
        return Err(Fault::value(format!("{who}: horizon must be in [1, {MAX_HORIZON}], got {horizon}")));
    }
    match rows {
        Some(rows) if rows != horizon => Err(Fault::value(format!(
            "{who}: xs must have one row per step of the horizon ({horizon}), got {rows}"
        ))),
        _ => Ok(()),
    }
}

/// The state would have left the finite numbers; it is as it was.
pub fn overflow(who: &str) -> Fault {
    Fault::new(
        FaultKind::Overflow,
        format!("{who}: this value would make the state overflow; it was not learned (scale the series)"),
    )
}

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

    /// Learn several values, up to one that is refused. With `skip` its time step is passed instead, so that later values
    /// keep their season. `from` is the row of the first value. Returns the number of skipped rows, and the fault that
    /// ended the call.
    pub fn learn_many(
        &mut self,
        ys: &[f64],
        from: usize,
        skip: bool,
        scratch: &mut Scratch,
    ) -> (usize, Option<Fault>) {
        let mut skipped = 0;
        for (row, &y) in ys.iter().enumerate().map(|(index, y)| (from + index, y)) {
            let Err(fault) = self.learn(Some(y), scratch) else { continue };
            if !skip {
                return (skipped, Some(fault.at_row(row)));
            }
            if let Err(fault) = self.skip(scratch) {
                return (skipped, Some(fault.at_row(row)));
            }
            skipped += 1;
        }
        (skipped, None)
    }

    /// The forecasts of the next `horizon` time steps; `rows` is the number of given feature rows.
    pub fn forecast(&self, horizon: usize, rows: Option<usize>, scratch: &mut Scratch) -> Result<Vec<f64>> {
        admit_horizon(&self.title, horizon, rows)?;
        let mut out = Vec::new();
        self.part.forecast(horizon, None, &mut out, scratch)?;
        Ok(out)
    }
}

#[cfg(test)]
pub mod testing {
    //! Shorter calls for tests.

    use super::*;

    pub fn learn_all(model: &mut dyn Forecaster, series: &[f64]) {
        for &y in series {
            model.learn(y, None, &mut Scratch::default()).expect("a good value");
        }
    }

    pub fn forecasts(model: &dyn Forecaster, horizon: usize) -> Vec<f64> {
        let mut out = vec![f64::NAN];
        model.forecast(horizon, None, &mut out, &mut Scratch::default()).expect("a good horizon");
        out
    }

    /// Assert that a value is refused and the state stays as it was.
    pub fn refuses(model: &mut dyn Forecaster, y: f64) -> Fault {
        let before = model.save().expect("a state");
        let fault = model.learn(y, None, &mut Scratch::default()).expect_err("a bad value");
        assert_eq!(model.save().expect("a state"), before);
        fault
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::held;
    use serde_json::json;

    #[test]
    fn only_finite_values_are_admitted() {
        assert_eq!(admit("f", Some(2.0)).unwrap(), 2.0);
        assert_eq!(admit("f", Some(f64::INFINITY)).unwrap_err().message(), "f: y must be finite, got inf");
        for missing in [None, Some(f64::NAN)] {
            assert!(admit("f", missing).unwrap_err().message().contains("got a missing value"));
        }
    }

    #[test]
    fn a_horizon_has_bounds_and_its_rows() {
        assert!(admit_horizon("f", 2, Some(2)).is_ok());
        assert!(admit_horizon("f", 3, None).is_ok());
        for (horizon, rows) in [(0, None), (MAX_HORIZON + 1, None), (3, Some(2))] {
            assert!(admit_horizon("f", horizon, rows).is_err());
        }
    }

    fn naive() -> held::Forecaster {
        let description = json!({ "name": "time_series.SeasonalNaive", "parameters": { "period": 2 } });
        held::Forecaster::new(&description).expect("it is declared")
    }

    #[test]
    fn a_refused_value_ends_a_batch_or_passes_its_time_step() {
        let mut scratch = Scratch::default();
        let ys = [1.0, 2.0, f64::NAN, 4.0];
        let mut stopped = naive();
        let (skipped, fault) = stopped.learn_many(&ys, 10, false, &mut scratch);
        assert_eq!((skipped, fault.and_then(|fault| fault.row()), stopped.count()), (0, Some(12), 2));
        assert_eq!(stopped.forecast(2, None, &mut scratch).unwrap(), [1.0, 2.0]);
        let mut skipping = naive();
        let (skipped, fault) = skipping.learn_many(&ys, 0, true, &mut scratch);
        assert_eq!((skipped, fault.is_none(), skipping.count()), (1, true, 3));
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
