//! The value one period ago; with period 1 the last value.
//!
//! With T the last time step, m the period and k = ⌊(h − 1)/m⌋, the forecast of step T + h is y_{T + h − m(k + 1)}
//! (Hyndman and Athanasopoulos, Forecasting: principles and practice, 3rd ed., 2021, section 5.2). It is the baseline
//! of forecasting: the mean absolute scaled error divides by its error (Hyndman and Koehler, 2006).
//!
//! Within the first period, steps whose season has not occurred yet are forecast by the last value; the forecast
//! before the first value is 0.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::batch::Rows;
use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::forecaster::Forecaster;
use crate::held::state::{pack, require, unpack};
use crate::merging::Merge;
use crate::parameter::{Default as DefaultValue, Parameter};
use crate::part::Part;
use crate::row::{all_finite, Row, Scratch};
use crate::schema::Schema;

const NAME: &str = "time_series.SeasonalNaive";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Forecaster,
    words: "The value one period ago, as a forecast",
    merge: Merge::ORDER,
    parameters: &[Parameter::new(
        "period",
        super::period(1),
        DefaultValue::Integer(1),
        "number of time steps after which the series repeats; 1 forecasts the last value",
    )],
    build: |arguments| Ok(Built::Forecaster(Box::new(SeasonalNaive::new(arguments.size("period")?)))),
};

#[derive(Clone)]
struct SeasonalNaive {
    period: usize,
    state: State,
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct State {
    /// The last value of each season: a ring that grows within the first period.
    values: Vec<f64>,
    /// The index of the season that comes next.
    next: usize,
}

impl SeasonalNaive {
    fn new(period: usize) -> Self {
        SeasonalNaive { period, state: State::default() }
    }

    /// The forecast `ahead` steps after the next one.
    fn value(&self, ahead: usize) -> f64 {
        let State { values, next } = &self.state;
        // Until the first period is over, the last value is at the end; afterwards no season is absent.
        *values.get((next + ahead) % self.period).or(values.last()).unwrap_or(&0.0)
    }

    fn put(&mut self, y: f64) {
        let State { values, next } = &mut self.state;
        match values.get_mut(*next) {
            Some(value) => *value = y,
            None => values.push(y),
        }
        *next = (*next + 1) % self.period;
    }
}

impl Part for SeasonalNaive {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        require(NAME, all_finite(&state.values), "a value is not finite")?;
        let placed = match state.values.len() {
            n if n < self.period => state.next == n,
            n => n == self.period && state.next < n,
        };
        require(NAME, placed, "the number of values does not agree with the period")?;
        self.state = state;
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.state.values.capacity() * 8
    }

    fn inspect(&self, _schema: &Schema) -> serde_json::Value {
        // The oldest first, which is the next to be repeated.
        let n = self.state.values.len();
        let first = if n < self.period { 0 } else { self.state.next };
        let values: Vec<f64> = (0..n).map(|index| self.state.values[(first + index) % n]).collect();
        json!({ "values": values })
    }
}

impl Forecaster for SeasonalNaive {
    fn learn(&mut self, y: f64, _x: Option<Row<'_>>, _scratch: &mut Scratch) -> Result<()> {
        self.put(y);
        Ok(())
    }

    fn skip(&mut self, _x: Option<Row<'_>>, _scratch: &mut Scratch) -> Result<()> {
        if !self.state.values.is_empty() {
            self.put(self.value(0));
        }
        Ok(())
    }

    fn forecast(
        &self,
        horizon: usize,
        _xs: Option<Rows<'_>>,
        out: &mut Vec<f64>,
        _scratch: &mut Scratch,
    ) -> Result<()> {
        out.clear();
        out.extend((0..horizon).map(|ahead| self.value(ahead)));
        Ok(())
    }

    fn duplicate(&self) -> Box<dyn Forecaster> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forecaster::testing::{forecasts, learn_all};

    #[test]
    fn worked_by_hand() {
        // Period 3 on 1, 2, 3, 4: T = 4, so steps 5, 6, 7 repeat y₂, y₃, y₄ = 2, 3, 4, and step 8 repeats y₂ again.
        let mut model = SeasonalNaive::new(3);
        learn_all(&mut model, &[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(forecasts(&model, 5), [2.0, 3.0, 4.0, 2.0, 3.0]);
        assert_eq!(model.inspect(&Schema::default()), json!({ "values": [2.0, 3.0, 4.0] }));
    }

    #[test]
    fn the_naive_forecast_is_the_last_value() {
        let mut model = SeasonalNaive::new(1);
        assert_eq!(forecasts(&model, 2), [0.0, 0.0]);
        learn_all(&mut model, &[5.0, 1e308]);
        assert_eq!(forecasts(&model, 2), [1e308, 1e308]);
    }

    #[test]
    fn within_the_first_period_absent_seasons_are_the_last_value() {
        // y₁ = 1, y₂ = 2: step 3 has no value one period ago; steps 4 and 5 repeat y₁ and y₂.
        let mut model = SeasonalNaive::new(3);
        learn_all(&mut model, &[1.0, 2.0]);
        assert_eq!(forecasts(&model, 4), [2.0, 1.0, 2.0, 2.0]);
    }

    #[test]
    fn a_missing_value_repeats_the_season() {
        let mut scratch = Scratch::default();
        let mut model = SeasonalNaive::new(2);
        model.skip(None, &mut scratch).unwrap();
        assert!(model.state.values.is_empty());
        learn_all(&mut model, &[1.0, 2.0]);
        model.skip(None, &mut scratch).unwrap();
        assert_eq!(forecasts(&model, 2), [2.0, 1.0]);
    }

    #[test]
    fn a_state_is_saved_and_a_false_one_refused() {
        let mut model = SeasonalNaive::new(3);
        learn_all(&mut model, &[1.0, 2.0, 3.0, 4.0]);
        let mut loaded = SeasonalNaive::new(3);
        loaded.load(&model.save().unwrap()).unwrap();
        assert_eq!(loaded.save().unwrap(), model.save().unwrap());
        for (values, next) in
            [(vec![1.0, 2.0], 1), (vec![1.0, 2.0, 3.0], 3), (vec![1.0; 4], 0), (vec![1.0, f64::NAN], 2)]
        {
            assert!(loaded.load(&pack(&State { values, next }).unwrap()).is_err());
        }
        assert_eq!(loaded.save().unwrap(), model.save().unwrap());
    }
}
