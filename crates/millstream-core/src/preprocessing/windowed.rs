//! Standard, min-max and max-abs scalers over the last `window_size` numbers of each feature.
//!
//! The moments and extremes of the window are exact at every step (see `two_stacks.rs`). Moments of two stretches are
//! combined by the formula of Chan, Golub and LeVeque (1979): with δ = m_b − m_a and n = n_a + n_b, the mean is
//! m_a + δ n_b/n and the sum of squares s_a + s_b + δ² n_a n_b/n.

use serde_json::{json, Value as Json};

use crate::batch::MODERATE;
use crate::declaration::Built;
use crate::fault::Result;
use crate::numeric::magnitude::LARGEST;
use crate::parameter::{Arguments, Default as DefaultValue, Kind, Parameter};
use crate::row::bounded;

use super::min_max_scaler;
use super::per_feature::{moderate, PerFeature, Scaling};
use super::standard_scaler;
use super::two_stacks::{Aggregate, Pushed, SavedWindow, TwoStacks};

/// The size of the windows of all scalers.
pub const WINDOW_SIZE: Parameter = Parameter::new(
    "window_size",
    Kind::Optional(&Kind::Integer { low: 1, high: 1 << 32 }),
    DefaultValue::Null,
    "number of the last values of each feature that count; null for all",
);

/// None for all numbers of the stream.
pub fn window_size(arguments: &Arguments<'_>) -> Result<Option<usize>> {
    match arguments.value("window_size")?.is_null() {
        true => Ok(None),
        false => arguments.size("window_size").map(Some),
    }
}

/// The statistics of a window, and how a number is scaled by them.
pub trait Statistics: Clone + Send + Sync + 'static {
    type Aggregate: Aggregate + 'static;
    const NAME: &'static str;
    const KEEPS_ZERO: bool = false;
    /// A shift and a factor.
    fn scale(&self, aggregate: Self::Aggregate) -> (f64, f64);
    fn scaled(&self, scale: (f64, f64), x: f64) -> f64;
    fn inspect(&self, aggregate: Self::Aggregate) -> Json;
    fn default(&self) -> f64 {
        0.0
    }
    fn writes_moderate(&self) -> bool {
        true
    }
}

/// A scaler over the last `size` numbers of each feature.
#[derive(Clone)]
pub struct Windowed<S> {
    pub size: usize,
    pub statistics: S,
}

impl<S: Statistics> Windowed<S> {
    pub fn build(size: usize, statistics: S) -> Result<Built> {
        Ok(Built::Transformer(Box::new(PerFeature::new(Windowed { size, statistics }))))
    }

    fn scale(&self, window: &TwoStacks<S::Aggregate>) -> Option<(f64, f64)> {
        (!window.is_empty()).then(|| self.statistics.scale(window.get()))
    }
}

#[derive(Clone)]
pub struct Feature<A> {
    window: TwoStacks<A>,
    /// It follows from the window; None before the first number.
    scale: Option<(f64, f64)>,
}

impl<S: Statistics> Scaling for Windowed<S> {
    type Feature = Feature<S::Aggregate>;
    type Undo = Pushed<S::Aggregate>;
    type Saved = SavedWindow;

    fn name(&self) -> &'static str {
        S::NAME
    }

    fn unseen(&self) -> Self::Feature {
        Feature { window: TwoStacks::new(), scale: None }
    }

    #[inline]
    fn learn(&self, feature: &mut Self::Feature, x: f64, w: f64) -> Option<Self::Undo> {
        if x.abs() > LARGEST || w > LARGEST {
            return None;
        }
        let pushed = feature.window.push(x, w, self.size);
        feature.scale = Some(self.statistics.scale(feature.window.get()));
        Some(pushed)
    }

    fn undo(&self, feature: &mut Self::Feature, pushed: Self::Undo) {
        feature.window.undo(pushed);
        feature.scale = self.scale(&feature.window);
    }

    #[inline]
    fn scaled(&self, feature: &Self::Feature, x: f64) -> f64 {
        feature.scale.map_or(self.default(), |scale| self.statistics.scaled(scale, x))
    }

    fn default(&self) -> f64 {
        self.statistics.default()
    }

    fn keeps_zero(&self) -> bool {
        S::KEEPS_ZERO
    }

    fn writes_moderate(&self) -> bool {
        self.statistics.writes_moderate()
    }

    fn save(&self, feature: &Self::Feature) -> SavedWindow {
        feature.window.save()
    }

    fn load(&self, saved: SavedWindow) -> Result<Self::Feature> {
        let good = |x: f64, w: f64| x.abs() <= LARGEST && w > 0.0 && w <= LARGEST;
        let window = TwoStacks::load(S::NAME, saved, self.size, good)?;
        Ok(Feature { scale: self.scale(&window), window })
    }

    fn inspect(&self, feature: &Self::Feature) -> Option<Json> {
        (!feature.window.is_empty()).then(|| self.statistics.inspect(feature.window.get()))
    }

    fn memory(&self, feature: &Self::Feature) -> usize {
        feature.window.memory()
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Moments {
    n: f64,
    mean: f64,
    /// Σ w (x − mean)²
    squares: f64,
}

impl Aggregate for Moments {
    const NONE: Self = Moments { n: 0.0, mean: 0.0, squares: 0.0 };

    #[inline]
    fn of(x: f64, w: f64) -> Self {
        Moments { n: w, mean: x, squares: 0.0 }
    }

    #[inline]
    fn and(self, newer: Self) -> Self {
        if self.n == 0.0 {
            return newer;
        }
        if newer.n == 0.0 {
            return self;
        }
        let n = self.n + newer.n;
        let (delta, share) = (newer.mean - self.mean, newer.n / n);
        Moments {
            n,
            mean: self.mean + delta * share,
            squares: self.squares + newer.squares + delta * (self.n * share) * delta,
        }
    }
}

/// `preprocessing.StandardScaler` with a window.
#[derive(Clone)]
pub struct Standard {
    pub with_mean: bool,
    pub with_std: bool,
}

impl Statistics for Standard {
    type Aggregate = Moments;
    const NAME: &'static str = standard_scaler::NAME;

    #[inline]
    fn scale(&self, Moments { n, mean, squares }: Moments) -> (f64, f64) {
        let factor = if self.with_std { standard_scaler::inverse_deviation(squares, n) } else { 1.0 };
        (if self.with_mean { mean } else { 0.0 }, factor)
    }

    #[inline]
    fn scaled(&self, (mean, factor): (f64, f64), x: f64) -> f64 {
        bounded(bounded(x - mean) * factor)
    }

    fn inspect(&self, Moments { n, mean, squares }: Moments) -> Json {
        json!({ "count": n, "mean": mean, "variance": squares / n })
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Extremes {
    least: f64,
    greatest: f64,
}

impl Aggregate for Extremes {
    const NONE: Self = Extremes { least: f64::INFINITY, greatest: f64::NEG_INFINITY };

    #[inline]
    fn of(x: f64, _: f64) -> Self {
        Extremes { least: x, greatest: x }
    }

    #[inline]
    fn and(self, newer: Self) -> Self {
        Extremes { least: self.least.min(newer.least), greatest: self.greatest.max(newer.greatest) }
    }
}

/// `preprocessing.MinMaxScaler` with a window.
#[derive(Clone)]
pub struct MinMax {
    pub low: f64,
    pub high: f64,
    pub clip: bool,
}

impl Statistics for MinMax {
    type Aggregate = Extremes;
    const NAME: &'static str = min_max_scaler::NAME;

    fn scale(&self, Extremes { least, greatest }: Extremes) -> (f64, f64) {
        (least, greatest - least)
    }

    #[inline]
    fn scaled(&self, (least, range): (f64, f64), x: f64) -> f64 {
        min_max_scaler::scaled(x, least, range, self.low, self.high, self.clip)
    }

    fn inspect(&self, Extremes { least, greatest }: Extremes) -> Json {
        json!({ "min": least, "max": greatest })
    }

    fn default(&self) -> f64 {
        self.low
    }

    fn writes_moderate(&self) -> bool {
        self.low.abs().max(self.high.abs()) <= MODERATE
    }
}

/// The largest absolute value.
#[derive(Clone, Copy, Debug)]
pub struct Greatest(f64);

impl Aggregate for Greatest {
    const NONE: Self = Greatest(0.0);

    #[inline]
    fn of(x: f64, _: f64) -> Self {
        Greatest(x.abs())
    }

    #[inline]
    fn and(self, newer: Self) -> Self {
        Greatest(self.0.max(newer.0))
    }
}

/// `preprocessing.MaxAbsScaler` with a window.
#[derive(Clone)]
pub struct MaxAbs;

impl Statistics for MaxAbs {
    type Aggregate = Greatest;
    const NAME: &'static str = super::max_abs_scaler::NAME;
    const KEEPS_ZERO: bool = true;

    fn scale(&self, Greatest(greatest): Greatest) -> (f64, f64) {
        (0.0, greatest)
    }

    #[inline]
    fn scaled(&self, (_, greatest): (f64, f64), x: f64) -> f64 {
        if greatest > 0.0 {
            moderate(x / greatest)
        } else {
            0.0
        }
    }

    fn inspect(&self, Greatest(greatest): Greatest) -> Json {
        json!({ "max_abs": greatest })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;
    use crate::row::{Row, RowBuffer, Scratch};
    use crate::task::Truth;
    use crate::transformer::Transformer;

    fn scaler(name: &str, size: usize) -> Box<dyn Transformer> {
        let description = json!({ "name": name, "parameters": { "window_size": size } });
        let description = registry::resolve(&description).unwrap();
        let Built::Transformer(scaler) = registry::build_resolved(&description).unwrap() else { panic!() };
        scaler
    }

    fn last(name: &str, size: usize, numbers: &[f64]) -> f64 {
        let (mut scaler, mut scratch, mut out) = (scaler(name, size), Scratch::default(), RowBuffer::default());
        for &x in numbers {
            scaler.learn(Row::Plain(&[x]), Truth::None, 1.0, &mut scratch).unwrap();
        }
        scaler.transform(Row::Plain(&numbers[numbers.len() - 1..]), &mut out, &mut scratch);
        let Row::Plain(z) = out.row() else { panic!() };
        z[0]
    }

    /// The window of 3 has 1, 2, 6 after 1e8 and −9 have left: mean 3, variance 14/3, extremes 1 and 6.
    #[test]
    fn worked_by_hand() {
        let numbers = [-9.0, 1e8, 1.0, 2.0, 6.0];
        let z = last(standard_scaler::NAME, 3, &numbers);
        assert!((z - 3.0 / (14.0f64 / 3.0).sqrt()).abs() < 1e-15);
        assert_eq!(last(min_max_scaler::NAME, 3, &[-9.0, 1e8, 1.0, 6.0, 2.0]), 0.2);
        assert_eq!(last(crate::preprocessing::max_abs_scaler::NAME, 3, &[-9.0, 1e8, 1.0, -8.0, 2.0]), 0.25);
        assert_eq!(last(standard_scaler::NAME, 1, &numbers), 0.0);
    }

    /// The second number of the row is refused: the first, and its new slot, leave no trace.
    #[test]
    fn a_refused_row_leaves_no_trace() {
        let (mut scaler, mut scratch) = (scaler(standard_scaler::NAME, 2), Scratch::default());
        for x in [1.0, 2.0, 3.0] {
            scaler.learn(Row::Plain(&[x]), Truth::None, 1.0, &mut scratch).unwrap();
        }
        let before = scaler.save().unwrap();
        assert!(scaler.learn(Row::Plain(&[4.0, 1e200]), Truth::None, 1.0, &mut scratch).is_err());
        assert_eq!(scaler.save().unwrap(), before);
        scaler.learn(Row::Plain(&[4.0, 5.0]), Truth::None, 1.0, &mut scratch).unwrap();
        scaler.undo();
        assert_eq!(scaler.save().unwrap(), before);
    }
}
