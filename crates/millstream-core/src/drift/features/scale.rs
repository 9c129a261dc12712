//! Standardization of features, so that their distances can be added.

use super::row_window::RowWindow;

/// Standardized values are clipped to this magnitude.
const FAR: f64 = 1e3;

/// Standardized value of a number that differs from a constant feature.
const OFF: f64 = 10.0;

/// Scales to mean 0 and variance 1 over the numbers it was computed from.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scale {
    low: f64,
    /// Half of the range; the range of finite numbers may be infinite.
    reach: f64,
    mean: f64,
    deviation: f64,
}

impl Scale {
    /// The scale of a feature in some windows, without missing values.
    pub fn of(windows: &[&RowWindow], slot: usize) -> Self {
        let numbers = || {
            let of_row = move |row: &[f64]| row.get(slot).copied().filter(|x| !x.is_nan());
            windows.iter().flat_map(move |rows| rows.iter().filter_map(of_row))
        };
        let (low, high) = numbers().fold((f64::MAX, f64::MIN), |(low, high), x| (low.min(x), high.max(x)));
        if low > high {
            return Scale::default();
        }
        let mut scale = Scale { low, reach: 0.5 * high - 0.5 * low, mean: 0.0, deviation: 0.0 };
        if scale.reach == 0.0 {
            return scale;
        }
        let (mut n, mut mean, mut squares) = (0.0, 0.0, 0.0);
        for x in numbers() {
            let u = scale.along(x);
            n += 1.0;
            let step = u - mean;
            mean += step / n;
            squares += step * (u - mean);
        }
        scale.mean = mean;
        scale.deviation = (squares / n).sqrt();
        scale
    }

    /// Position between minimum and maximum, in [0, 2].
    fn along(&self, x: f64) -> f64 {
        (0.5 * x - 0.5 * self.low) / self.reach
    }

    /// NaN stays NaN.
    pub fn standardize(&self, x: f64) -> f64 {
        if self.deviation > 0.0 {
            return ((self.along(x) - self.mean) / self.deviation).clamp(-FAR, FAR);
        }
        if x.is_nan() || x == self.low {
            x * 0.0
        } else {
            OFF.copysign(x - self.low)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(numbers: &[f64]) -> RowWindow {
        let mut rows = RowWindow::default();
        rows.widen(1);
        numbers.iter().for_each(|&x| rows.push(&[x], numbers.len()));
        rows
    }

    /// 1, 3, 5 have mean 3 and variance 8/3.
    #[test]
    fn worked_by_hand() {
        let scale = Scale::of(&[&rows(&[1.0, f64::NAN]), &rows(&[3.0, 5.0])], 0);
        assert!((scale.standardize(5.0) - 2.0 / (8.0f64 / 3.0).sqrt()).abs() < 1e-15);
        assert!(scale.standardize(3.0).abs() < 1e-15);
        assert!(scale.standardize(f64::NAN).is_nan());
        assert_eq!(scale.standardize(1e308), FAR);
        let enormous = Scale::of(&[&rows(&[-1.7e308, 1.7e308])], 0);
        assert_eq!((enormous.standardize(-1.7e308), enormous.standardize(1.7e308)), (-1.0, 1.0));
        let constant = Scale::of(&[&rows(&[2.0, 2.0])], 0);
        assert_eq!(
            (constant.standardize(2.0), constant.standardize(3.0), constant.standardize(-1e308)),
            (0.0, OFF, -OFF)
        );
    }
}
