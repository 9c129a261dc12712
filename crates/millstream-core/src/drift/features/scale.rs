//! Numbers of any size on one scale, so that features can be added up.

use super::rows::Rows;

/// How far from the middle a number can be placed; what lies farther does not matter more.
const FAR: f64 = 1e3;

/// Where a number that differs from one that was constant is placed.
const OFF: f64 = 10.0;

/// Mean 0 and variance 1 over the numbers it was made from.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scale {
    low: f64,
    /// Half of the range: the range of finite numbers may itself not be finite.
    reach: f64,
    mean: f64,
    deviation: f64,
}

impl Scale {
    /// Of a feature in some windows; what is missing is passed over.
    pub fn of(windows: &[&Rows], slot: usize) -> Self {
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

    /// Twice the place between the least and the greatest.
    fn along(&self, x: f64) -> f64 {
        (0.5 * x - 0.5 * self.low) / self.reach
    }

    /// NaN stays NaN.
    pub fn place(&self, x: f64) -> f64 {
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

    fn rows(numbers: &[f64]) -> Rows {
        let mut rows = Rows::default();
        rows.widen(1);
        numbers.iter().for_each(|&x| rows.push(&[x], numbers.len()));
        rows
    }

    /// 1, 3, 5 have mean 3 and variance 8/3.
    #[test]
    fn worked_by_hand() {
        let scale = Scale::of(&[&rows(&[1.0, f64::NAN]), &rows(&[3.0, 5.0])], 0);
        assert!((scale.place(5.0) - 2.0 / (8.0f64 / 3.0).sqrt()).abs() < 1e-15);
        assert!(scale.place(3.0).abs() < 1e-15);
        assert!(scale.place(f64::NAN).is_nan());
        assert_eq!(scale.place(1e308), FAR);
        let enormous = Scale::of(&[&rows(&[-1.7e308, 1.7e308])], 0);
        assert_eq!((enormous.place(-1.7e308), enormous.place(1.7e308)), (-1.0, 1.0));
        let constant = Scale::of(&[&rows(&[2.0, 2.0])], 0);
        assert_eq!((constant.place(2.0), constant.place(3.0), constant.place(-1e308)), (0.0, OFF, -OFF));
    }
}
