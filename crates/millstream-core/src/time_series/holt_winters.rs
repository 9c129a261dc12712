//! Exponential smoothing: of the level alone, with a trend (Holt, 1957), and with seasons (Winters, 1960).
//!
//! With ℓ the level, b the trend, s the seasons of period m, and the smoothing parameters α, β and γ, for additive
//! seasons (Hyndman and Athanasopoulos, Forecasting: principles and practice, 3rd ed., 2021, sections 8.1 to 8.3):
//!
//! ```text
//! ℓ_t = α (y_t − s_{t−m}) + (1 − α)(ℓ_{t−1} + φ b_{t−1})
//! b_t = β (ℓ_t − ℓ_{t−1}) + (1 − β) φ b_{t−1}
//! s_t = γ (y_t − ℓ_{t−1} − φ b_{t−1}) + (1 − γ) s_{t−m}
//! forecast of t + h: ℓ_t + (φ + φ² + … + φ^h) b_t + s_{t + h − m(k + 1)},  k = ⌊(h − 1)/m⌋
//! ```
//!
//! Multiplicative seasons divide where these subtract and multiply where these add. φ < 1 damps the trend (Gardner and
//! McKenzie, 1985). Without a trend b = 0, without seasons s = 0.
//!
//! The first k = max(2, m) values start it: ℓ is their mean, b = (y_k − y_1)/(k − 1), and s_i = y_i − ℓ, or y_i/ℓ if
//! multiplicative. River starts in the same way, except that it divides for additive seasons too: then the first
//! seasons are about 1, whatever the units of the series. Before k values the forecast is their mean, and 0 before the
//! first.
//!
//! Multiplicative seasons are ratios and need positive values. Where a falling trend takes ℓ + φ b to 0 or below, there
//! is no ratio to it: the season keeps its value for that step.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::batch::Rows;
use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result, Shown};
use crate::forecaster::{overflow, Forecaster, LIMIT};
use crate::held::state::{pack, require, unpack};
use crate::merging::Merge;
use crate::parameter::{Arguments, Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::Part;
use crate::row::{bounded, Row, Scratch};
use crate::schema::Schema;

const NAME: &str = "time_series.HoltWinters";

const SMOOTHING: Kind = Kind::Optional(&Kind::Float(Bounds::UNIT));

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Forecaster,
    words: "Exponential smoothing of level, trend and seasons",
    merge: Merge::ORDER,
    parameters: &[
        Parameter::new(
            "smoothing_level",
            Kind::Float(Bounds::FRACTION),
            DefaultValue::Required,
            "weight of the newest value in the level; closer to 1 forgets faster",
        ),
        Parameter::new(
            "smoothing_trend",
            SMOOTHING,
            DefaultValue::Null,
            "weight of the newest change in the trend; null for no trend",
        ),
        Parameter::new(
            "smoothing_seasonal",
            SMOOTHING,
            DefaultValue::Null,
            "weight of the newest value in its season; null for no seasons",
        ),
        Parameter::new(
            "period",
            Kind::Optional(&super::period(2)),
            DefaultValue::Null,
            "number of time steps per season cycle, such as 12 for monthly data; null for none",
        ),
        Parameter::new(
            "multiplicative",
            Kind::Boolean,
            DefaultValue::Boolean(false),
            "multiply the level by the seasons instead of adding them",
        ),
        Parameter::new(
            "damping",
            Kind::Float(Bounds::FRACTION),
            DefaultValue::Float(1.0),
            "factor of the trend per time step; below 1 the trend levels off",
        ),
    ],
    build,
};

fn build(arguments: &Arguments<'_>) -> Result<Built> {
    let given = |name: &str| Ok::<_, Fault>(!arguments.value(name)?.is_null());
    let refuse = |what: &str| Err(Fault::value(format!("{NAME}: {what}")));
    let smoothing = |name: &str| match given(name)? {
        true => arguments.float(name).map(Some),
        false => Ok(None),
    };
    let method = Method {
        level: arguments.float("smoothing_level")?,
        trend: smoothing("smoothing_trend")?,
        seasonal: smoothing("smoothing_seasonal")?,
        period: if given("period")? { arguments.size("period")? } else { 0 },
        multiplicative: arguments.boolean("multiplicative")?,
        damping: arguments.float("damping")?,
    };
    match (method.seasonal, method.period) {
        (None, 1..) => return refuse("smoothing_seasonal must be given with a period, got null"),
        (Some(_), 0) => return refuse("period must be given with smoothing_seasonal, got null"),
        (None, 0) if method.multiplicative => {
            return refuse("multiplicative must be false without smoothing_seasonal and period, got true")
        }
        _ => {}
    }
    if method.trend.is_none() && method.damping != 1.0 {
        return refuse(&format!("damping must be 1 without smoothing_trend, got {}", method.damping));
    }
    Ok(Built::Forecaster(Box::new(HoltWinters { method, state: State::default() })))
}

#[derive(Clone)]
struct HoltWinters {
    method: Method,
    state: State,
}

/// The parameters.
#[derive(Clone, Copy)]
struct Method {
    level: f64,
    trend: Option<f64>,
    seasonal: Option<f64>,
    /// 0 without seasons.
    period: usize,
    multiplicative: bool,
    damping: f64,
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct State {
    /// The values so far, while there are too few to start.
    first: Vec<f64>,
    components: Option<Components>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Components {
    level: f64,
    /// 0 without a trend.
    trend: f64,
    /// The newest estimate of each season.
    seasons: Vec<f64>,
    /// The index of the season that comes next.
    next: usize,
}

impl Components {
    fn season(&self, ahead: usize) -> Option<f64> {
        match self.seasons.len() {
            0 => None,
            period => Some(self.seasons[(self.next + ahead) % period]),
        }
    }

    fn advance(&mut self, level: f64, trend: f64, season: Option<f64>) {
        (self.level, self.trend) = (level, trend);
        if let Some(season) = season {
            self.seasons[self.next] = season;
            self.next = (self.next + 1) % self.seasons.len();
        }
    }
}

fn mean(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    // The sum of numbers that fit need not fit.
    if mean.is_finite() {
        mean
    } else {
        values.iter().map(|value| value / n).sum()
    }
}

impl Method {
    /// The number of values that start it.
    fn needed(&self) -> usize {
        self.period.max(2)
    }

    fn admits(&self, y: f64) -> bool {
        !self.multiplicative || y > 0.0
    }

    /// Whether a state is such that another value can be learned from it.
    fn holds(&self, level: f64, trend: f64, season: Option<f64>) -> bool {
        // The comparison is false of NaN.
        let fits = |number: f64| number.abs() <= LIMIT;
        fits(level)
            && fits(trend)
            && fits(level + self.damping * trend)
            && season.is_none_or(|season| fits(season) && (!self.multiplicative || season >= f64::MIN_POSITIVE))
    }

    /// The components after the values that start it.
    fn start(&self, first: &[f64]) -> Result<Components> {
        let (n, level) = (first.len(), mean(first));
        let trend = match self.trend {
            Some(_) => (first[n - 1] - first[0]) / (n - 1) as f64,
            None => 0.0,
        };
        let season = |&value: &f64| if self.multiplicative { value / level } else { value - level };
        let seasons: Vec<f64> = first[..self.period].iter().map(season).collect();
        if !(self.holds(level, trend, None)
            && seasons.iter().all(|&season| self.holds(level, trend, Some(season))))
        {
            return Err(overflow(NAME));
        }
        Ok(Components { level, trend, seasons, next: 0 })
    }

    /// Level, trend and season after one more value.
    fn step(&self, components: &Components, y: f64) -> Result<(f64, f64, Option<f64>)> {
        let &Components { level: last, trend, .. } = components;
        let season = components.season(0);
        let damped = self.damping * trend;
        let expected = last + damped;
        let without_season = match season {
            None => y,
            Some(season) if self.multiplicative => y / season,
            Some(season) => y - season,
        };
        let level = self.level * without_season + (1.0 - self.level) * expected;
        let trend = match self.trend {
            Some(weight) => weight * (level - last) + (1.0 - weight) * damped,
            None => 0.0,
        };
        let season = match (season, self.seasonal) {
            (Some(season), Some(weight)) => Some(match self.multiplicative {
                true if expected <= 0.0 => season,
                true => weight * (y / expected) + (1.0 - weight) * season,
                false => weight * (y - expected) + (1.0 - weight) * season,
            }),
            _ => None,
        };
        match self.holds(level, trend, season) {
            true => Ok((level, trend, season)),
            false => Err(overflow(NAME)),
        }
    }
}

impl Part for HoltWinters {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        let method = &self.method;
        let fits = |value: f64| value.abs() <= LIMIT && method.admits(value);
        require(NAME, state.first.iter().all(|&value| fits(value)), "a first value is out of range")?;
        match &state.components {
            None => require(NAME, state.first.len() < method.needed(), "there are too many first values")?,
            Some(Components { level, trend, seasons, next }) => {
                require(NAME, state.first.is_empty(), "there are first values after the start")?;
                require(NAME, seasons.len() == method.period, "the number of seasons is not the period")?;
                require(NAME, *next < method.period.max(1), "the next season does not exist")?;
                require(NAME, method.trend.is_some() || *trend == 0.0, "there is a trend")?;
                let sound = method.holds(*level, *trend, None)
                    && seasons.iter().all(|&season| method.holds(*level, *trend, Some(season)));
                require(NAME, sound, "a component is out of range")?;
            }
        }
        self.state = state;
        Ok(())
    }

    fn memory(&self) -> usize {
        let seasons = self.state.components.as_ref().map_or(0, |components| components.seasons.capacity());
        std::mem::size_of::<Self>() + (self.state.first.capacity() + seasons) * 8
    }

    fn inspect(&self, _schema: &Schema) -> serde_json::Value {
        match &self.state.components {
            None => json!({ "first": self.state.first }),
            Some(components) => {
                let ahead = 0..components.seasons.len();
                let seasons: Vec<_> = ahead.filter_map(|ahead| components.season(ahead)).collect();
                json!({ "level": components.level, "trend": components.trend, "seasons": seasons })
            }
        }
    }
}

impl Forecaster for HoltWinters {
    fn learn(&mut self, y: f64, _x: Option<Row<'_>>, _scratch: &mut Scratch) -> Result<()> {
        if !self.method.admits(y) {
            return Err(Fault::value(format!(
                "{NAME}: y must be > 0 with multiplicative seasons, got {}",
                Shown(y)
            )));
        }
        let State { first, components } = &mut self.state;
        if let Some(components) = components {
            let (level, trend, season) = self.method.step(components, y)?;
            components.advance(level, trend, season);
            return Ok(());
        }
        // Within this size, mean, differences and the first forecast are finite, whatever the last value is.
        if y.abs() > LIMIT / 4.0 {
            return Err(overflow(NAME));
        }
        first.push(y);
        if first.len() < self.method.needed() {
            return Ok(());
        }
        match self.method.start(first) {
            Ok(started) => {
                *components = Some(started);
                *first = Vec::new();
                Ok(())
            }
            Err(fault) => {
                first.pop();
                Err(fault)
            }
        }
    }

    fn skip(&mut self, x: Option<Row<'_>>, scratch: &mut Scratch) -> Result<()> {
        if let Some(components) = &mut self.state.components {
            // What the equations give for y_t equal to its forecast.
            let trend = self.method.damping * components.trend;
            let (level, season) = (components.level + trend, components.season(0));
            if !self.method.holds(level, trend, season) {
                return Err(overflow(NAME));
            }
            components.advance(level, trend, season);
            return Ok(());
        }
        match self.state.first.is_empty() {
            true => Ok(()),
            false => self.learn(mean(&self.state.first), x, scratch),
        }
    }

    fn forecast(
        &self,
        horizon: usize,
        _xs: Option<Rows<'_>>,
        out: &mut Vec<f64>,
        _scratch: &mut Scratch,
    ) -> Result<()> {
        out.clear();
        let Some(components) = &self.state.components else {
            let constant = if self.state.first.is_empty() { 0.0 } else { mean(&self.state.first) };
            out.resize(horizon, constant);
            return Ok(());
        };
        let (mut power, mut steps) = (1.0, 0.0);
        out.extend((0..horizon).map(|ahead| {
            power *= self.method.damping;
            steps += power;
            let trended = bounded(components.level + steps * components.trend);
            bounded(match components.season(ahead) {
                None => trended,
                Some(season) if self.method.multiplicative => trended * season,
                Some(season) => trended + season,
            })
        }));
        Ok(())
    }

    fn duplicate(&self) -> Box<dyn Forecaster> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::FaultKind;
    use crate::forecaster::testing::{forecasts, learn_all, refuses};
    use crate::registry;

    const LEVEL: Method =
        Method { level: 0.5, trend: None, seasonal: None, period: 0, multiplicative: false, damping: 1.0 };
    const TREND: Method = Method { trend: Some(0.25), ..LEVEL };
    const ADDITIVE: Method = Method { seasonal: Some(0.5), period: 2, ..TREND };
    const MULTIPLICATIVE: Method = Method { multiplicative: true, ..ADDITIVE };

    fn model(method: Method) -> HoltWinters {
        HoltWinters { method, state: State::default() }
    }

    fn learned(method: Method, series: &[f64]) -> HoltWinters {
        let mut model = model(method);
        learn_all(&mut model, series);
        model
    }

    #[test]
    fn the_level_by_hand() {
        // α = ½ on 1, 3, 5: ℓ₂ = (1 + 3)/2 = 2, ℓ₃ = ½·5 + ½·2 = 3.5.
        assert_eq!(forecasts(&learned(LEVEL, &[1.0, 3.0, 5.0]), 3), [3.5; 3]);
    }

    #[test]
    fn a_trend_by_hand() {
        // α = ½, β = ¼ on 1, 3, 8: ℓ₂ = 2, b₂ = 2; ℓ₃ = ½·8 + ½·(2 + 2) = 6, b₃ = ¼·(6 − 2) + ¾·2 = 2.5.
        assert_eq!(forecasts(&learned(TREND, &[1.0, 3.0, 8.0]), 3), [8.5, 11.0, 13.5]);
    }

    #[test]
    fn a_damped_trend_with_additive_seasons_by_hand() {
        // α = ½, β = ¼, γ = ½, φ = ½, m = 2 on 2, 6, 5: ℓ₂ = 4, b₂ = 4, s = (2 − 4, 6 − 4) = (−2, 2). Then
        // ℓ₃ = ½·(5 + 2) + ½·(4 + ½·4) = 6.5, b₃ = ¼·(6.5 − 4) + ¾·½·4 = 2.125, s₃ = ½·(5 − 6) + ½·(−2) = −1.5.
        // Step 4: 6.5 + ½·2.125 + 2. Step 5: 6.5 + (½ + ¼)·2.125 − 1.5.
        let model = learned(Method { damping: 0.5, ..ADDITIVE }, &[2.0, 6.0, 5.0]);
        assert_eq!(forecasts(&model, 2), [9.5625, 6.59375]);
        let expected = json!({ "level": 6.5, "trend": 2.125, "seasons": [2.0, -1.5] });
        assert_eq!(model.inspect(&Schema::default()), expected);
    }

    #[test]
    fn multiplicative_seasons_by_hand() {
        // α = ½, β = ¼, γ = ½, m = 2 on 2, 6, 6: ℓ₂ = 4, b₂ = 4, s = (2/4, 6/4) = (½, 1½). Then
        // ℓ₃ = ½·6/½ + ½·(4 + 4) = 10, b₃ = ¼·(10 − 4) + ¾·4 = 4.5, s₃ = ½·6/8 + ½·½ = 0.625.
        // Step 4: (10 + 4.5)·1.5. Step 5: (10 + 9)·0.625.
        assert_eq!(forecasts(&learned(MULTIPLICATIVE, &[2.0, 6.0, 6.0]), 2), [21.75, 11.875]);
    }

    #[test]
    fn the_same_numbers_as_river() {
        // River 0.26.1, `model = river.time_series.HoltWinters(alpha=0.3, beta=0.1, gamma=0.6, seasonality=4,
        // multiplicative=…)`, `learn_one` with each value, `forecast(10)`; without gamma and seasonality, and without
        // beta. For additive seasons, `model.season` was set to y_i − ℓ after the fourth value (see the head).
        let series = [
            112.0, 118.0, 132.0, 129.0, 121.0, 135.0, 148.0, 148.0, 136.0, 119.0, 104.0, 118.0, 115.0, 126.0,
            141.0, 135.0, 125.0, 149.0, 170.0, 170.0, 158.0, 133.0, 114.0, 140.0,
        ];
        let level = Method { level: 0.3, ..LEVEL };
        let trend = Method { trend: Some(0.1), ..level };
        let additive = Method { seasonal: Some(0.6), period: 4, ..trend };
        let multiplicative = Method { multiplicative: true, ..additive };
        let expected = [
            (level, [138.3889359901642; 10]),
            (
                trend,
                [
                    144.2684863340161,
                    145.1496898833484,
                    146.03089343268067,
                    146.91209698201297,
                    147.79330053134527,
                    148.67450408067756,
                    149.55570763000983,
                    150.43691117934213,
                    151.31811472867443,
                    152.19931827800673,
                ],
            ),
            (
                additive,
                [
                    132.3258370712813,
                    121.23264562504684,
                    120.66610527104402,
                    144.4689642743329,
                    135.70784138087208,
                    124.61464993463761,
                    124.04810958063482,
                    147.8509685839237,
                    139.08984569046285,
                    127.99665424422838,
                ],
            ),
            (
                multiplicative,
                [
                    134.26827264997718,
                    126.10788133679911,
                    124.99469349679748,
                    144.87109409870587,
                    137.54726807564919,
                    129.16890156223025,
                    128.01039324019803,
                    148.34538850245414,
                    140.8262635013212,
                    132.22992178766143,
                ],
            ),
        ];
        for (method, expected) in expected {
            for (ours, rivers) in forecasts(&learned(method, &series), 10).iter().zip(expected) {
                assert!((ours - rivers).abs() <= 1e-13 * rivers, "{ours} is not {rivers}");
            }
        }
    }

    #[test]
    fn the_mean_is_forecast_until_it_starts() {
        assert_eq!(forecasts(&model(TREND), 2), [0.0; 2]);
        let monthly = Method { period: 12, ..ADDITIVE };
        assert_eq!(forecasts(&learned(monthly, &[1.0, 2.0, 6.0]), 2), [3.0; 2]);
    }

    #[test]
    fn a_missing_value_counts_as_its_forecast() {
        let mut scratch = Scratch::default();
        for method in [LEVEL, Method { damping: 0.5, ..ADDITIVE }, MULTIPLICATIVE] {
            let mut skipping = model(method);
            skipping.skip(None, &mut scratch).unwrap();
            assert!(skipping.state.first.is_empty());
            learn_all(&mut skipping, &[2.0, 6.0, 5.0]);
            let mut learning = skipping.clone();
            skipping.skip(None, &mut scratch).unwrap();
            let forecast = forecasts(&learning, 1)[0];
            learn_all(&mut learning, &[forecast]);
            assert_eq!(skipping.state.components, learning.state.components);
        }
        let mut starting = learned(Method { period: 4, ..ADDITIVE }, &[2.0, 6.0]);
        starting.skip(None, &mut scratch).unwrap();
        assert_eq!(starting.state.first, [2.0, 6.0, 4.0]);
    }

    #[test]
    fn values_that_overflow_are_refused_and_it_continues() {
        for method in [LEVEL, TREND, ADDITIVE, MULTIPLICATIVE] {
            for before in [&[][..], &[2.0], &[2.0, 6.0, 5.0]] {
                let mut model = learned(method, before);
                assert_eq!(refuses(&mut model, f64::MAX).kind(), FaultKind::Overflow);
                learn_all(&mut model, &[3.0, 4.0, 5.0]);
                assert!(forecasts(&model, 3).iter().all(|forecast| forecast.abs() < 100.0));
            }
        }
        // The first season would be a ratio that underflows.
        let mut tiny = learned(MULTIPLICATIVE, &[5e-324]);
        assert_eq!(refuses(&mut tiny, 1e300).kind(), FaultKind::Overflow);
        let mut model = learned(TREND, &[2.0, 6.0]);
        assert_eq!(refuses(&mut model, 1e308).kind(), FaultKind::Overflow);
        let largest = learned(TREND, &[0.0, LIMIT / 4.0]);
        assert_eq!(forecasts(&largest, 100)[99], f64::MAX);
    }

    #[test]
    fn multiplicative_seasons_need_positive_values() {
        for before in [&[][..], &[2.0, 6.0]] {
            for y in [0.0, -1.0] {
                assert_eq!(refuses(&mut learned(MULTIPLICATIVE, before), y).kind(), FaultKind::Value);
            }
        }
    }

    #[test]
    fn a_level_below_zero_recovers_under_multiplicative_seasons() {
        // ℓ₂ = 50.5, b₂ = −99: no ratio to −48.5, so the season stays at 100/50.5.
        let mut model = learned(MULTIPLICATIVE, &[100.0, 1.0, 1.0]);
        let season = model.state.components.as_ref().unwrap().seasons[0];
        assert_eq!(season, 100.0 / 50.5);
        learn_all(&mut model, &[2.0; 200]);
        assert!(forecasts(&model, 4).iter().all(|forecast| (forecast - 2.0).abs() < 1e-3));
    }

    #[test]
    fn a_state_is_saved_and_continues() {
        let series = [2.0, 6.0, 5.0, 7.0, 3.0, 8.0];
        for method in [LEVEL, TREND, ADDITIVE, MULTIPLICATIVE] {
            for cut in 0..series.len() {
                let mut loaded = model(method);
                loaded.load(&learned(method, &series[..cut]).save().unwrap()).unwrap();
                learn_all(&mut loaded, &series[cut..]);
                assert_eq!(loaded.save().unwrap(), learned(method, &series).save().unwrap());
            }
        }
    }

    #[test]
    fn a_false_state_is_refused() {
        let good = Components { level: 1.0, trend: 1.0, seasons: vec![1.0, 2.0], next: 1 };
        let state = |first: &[f64], components| State { first: first.to_vec(), components };
        let mut part = model(MULTIPLICATIVE);
        part.load(&pack(&state(&[], Some(good.clone()))).unwrap()).unwrap();
        let before = part.save().unwrap();
        for bad in [
            state(&[1.0, 2.0], None),
            state(&[-1.0], None),
            state(&[f64::NAN], None),
            state(&[1.0], Some(good.clone())),
            state(&[], Some(Components { level: f64::NAN, ..good.clone() })),
            state(&[], Some(Components { trend: f64::MAX, ..good.clone() })),
            state(&[], Some(Components { seasons: vec![1.0], ..good.clone() })),
            state(&[], Some(Components { seasons: vec![1.0, 0.0], ..good.clone() })),
            state(&[], Some(Components { next: 2, ..good.clone() })),
        ] {
            assert!(part.load(&pack(&bad).unwrap()).is_err());
            assert_eq!(part.save().unwrap(), before);
        }
        let trend = Components { seasons: vec![], next: 0, ..good };
        assert!(model(LEVEL).load(&pack(&state(&[], Some(trend))).unwrap()).is_err());
    }

    #[test]
    fn parameters_that_do_not_go_together_are_refused() {
        let built = |parameters: serde_json::Value| {
            let description = registry::resolve(&json!({ "name": NAME, "parameters": parameters }))?;
            registry::build_resolved(&description)
        };
        for good in [
            json!({ "smoothing_level": 0.5 }),
            json!({ "smoothing_level": 0.5, "smoothing_seasonal": 0.1, "period": 4, "multiplicative": true }),
            json!({ "smoothing_level": 1, "smoothing_trend": 0, "damping": 0.9 }),
        ] {
            assert!(matches!(built(good), Ok(Built::Forecaster(_))));
        }
        for (bad, name) in [
            (json!({}), "smoothing_level"),
            (json!({ "smoothing_level": 0 }), "smoothing_level"),
            (json!({ "smoothing_level": 0.5, "period": 4 }), "smoothing_seasonal"),
            (json!({ "smoothing_level": 0.5, "smoothing_seasonal": 0.1 }), "period"),
            (json!({ "smoothing_level": 0.5, "smoothing_seasonal": 0.1, "period": 1 }), "period"),
            (json!({ "smoothing_level": 0.5, "multiplicative": true }), "multiplicative"),
            (json!({ "smoothing_level": 0.5, "damping": 0.9 }), "damping"),
        ] {
            let Err(fault) = built(bad) else { panic!("{name} is not refused") };
            assert!(fault.message().starts_with(NAME) && fault.message().contains(name), "{fault}");
        }
    }
}
