//! The findings of a comparison by feature, and the correction for multiple tests.

use serde::{Deserialize, Serialize};

/// The result of a comparison for one feature. All numbers are NaN if it could not be tested.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Effect size, in the detector's own measure.
    pub statistic: f64,
    /// p-value of this feature alone.
    pub p_value: f64,
    /// p-value corrected for the number of features: the lowest significance level at which the feature has drifted.
    pub adjusted: f64,
    pub moved: bool,
}

impl Finding {
    pub const UNTESTED: Finding =
        Finding { statistic: f64::NAN, p_value: f64::NAN, adjusted: f64::NAN, moved: false };

    pub fn new(statistic: f64, p_value: f64) -> Self {
        Finding { statistic, p_value, adjusted: p_value, moved: false }
    }

    pub fn is_sound(&self) -> bool {
        let probability = |x: f64| x.is_nan() || (0.0..=1.0).contains(&x);
        !self.statistic.is_infinite() && probability(self.p_value) && probability(self.adjusted)
    }
}

/// The result of a comparison.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Level {
    #[default]
    Nothing,
    Warning,
    Drift,
}

/// The correction of p-values for multiple tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Correction {
    None,
    Bonferroni,
    Holm,
    BenjaminiHochberg,
}

pub const CORRECTIONS: [&str; 4] = ["holm", "bonferroni", "benjamini_hochberg", "none"];

impl Correction {
    pub fn of(word: &str) -> Self {
        match word {
            "bonferroni" => Correction::Bonferroni,
            "benjamini_hochberg" => Correction::BenjaminiHochberg,
            "none" => Correction::None,
            _ => Correction::Holm,
        }
    }

    /// Write the adjusted p-values: for the k-th smallest of n, n p (Bonferroni), the maximum of (n − i + 1) p for i ≤ k
    /// (Holm, 1979), or the minimum of n p / i for i ≥ k (Benjamini and Hochberg, 1995).
    pub fn adjust(self, findings: &mut [Finding], order: &mut Vec<u32>) {
        order.clear();
        order.extend((0..findings.len() as u32).filter(|&slot| !findings[slot as usize].p_value.is_nan()));
        let n = order.len() as f64;
        order.sort_unstable_by(|&a, &b| {
            findings[a as usize].p_value.total_cmp(&findings[b as usize].p_value).then(a.cmp(&b))
        });
        match self {
            Correction::None => {}
            Correction::Bonferroni => {
                for &slot in order.iter() {
                    let finding = &mut findings[slot as usize];
                    finding.adjusted = (n * finding.p_value).min(1.0);
                }
            }
            Correction::Holm => {
                let mut greatest = 0.0f64;
                for (index, &slot) in order.iter().enumerate() {
                    let finding = &mut findings[slot as usize];
                    greatest = greatest.max((n - index as f64) * finding.p_value);
                    finding.adjusted = greatest.min(1.0);
                }
            }
            Correction::BenjaminiHochberg => {
                let mut least = 1.0f64;
                for (index, &slot) in order.iter().enumerate().rev() {
                    let finding = &mut findings[slot as usize];
                    least = least.min(n * finding.p_value / (index + 1) as f64);
                    finding.adjusted = least;
                }
            }
        }
    }
}

/// The significance levels of drift and warnings.
#[derive(Clone, Copy, Debug)]
pub struct SignificanceLevels {
    pub drift: f64,
    pub warning: f64,
    pub correction: Correction,
}

impl SignificanceLevels {
    /// Correct the findings and mark the drifted features: significant, with a statistic of at least `min_effect`.
    pub fn judge(&self, findings: &mut [Finding], min_effect: f64, order: &mut Vec<u32>) -> Level {
        self.correction.adjust(findings, order);
        let mut level = Level::Nothing;
        for finding in findings.iter_mut().filter(|finding| finding.statistic >= min_effect) {
            finding.moved = finding.adjusted <= self.drift;
            level = level.max(self.level(finding.adjusted));
        }
        level
    }

    /// The level of one p-value.
    pub fn level(&self, p_value: f64) -> Level {
        if p_value <= self.drift {
            Level::Drift
        } else if p_value <= self.warning {
            Level::Warning
        } else {
            Level::Nothing
        }
    }
}

/// The order from most to least drifted: by p-value, then by descending statistic.
pub fn most_moved(a: &Finding, b: &Finding) -> std::cmp::Ordering {
    // NaN, for features without a test, comes last.
    let key = |x: f64| if x.is_nan() { f64::INFINITY } else { x };
    key(a.p_value).total_cmp(&key(b.p_value)).then(key(-a.statistic).total_cmp(&key(-b.statistic)))
}

/// At drift that is significant for no feature alone, mark the one with the largest statistic; without drift, mark none.
pub fn mark_at_least_one(findings: &mut [Finding], level: Level) {
    if level != Level::Drift {
        findings.iter_mut().for_each(|finding| finding.moved = false);
        return;
    }
    if findings.iter().any(|finding| finding.moved) {
        return;
    }
    let tested = findings.iter_mut().filter(|finding| !finding.p_value.is_nan());
    if let Some(first) = tested.max_by(|a, b| a.statistic.total_cmp(&b.statistic)) {
        first.moved = true;
    }
}

/// Set the statistic of each feature to its fraction of the sum of all contributions.
pub fn normalize_statistics(findings: &mut [Finding], contributions: impl Iterator<Item = f64> + Clone) {
    let all: f64 = contributions.clone().sum();
    for (finding, contribution) in findings.iter_mut().zip(contributions) {
        finding.statistic = if all > 0.0 && all.is_finite() { contribution / all } else { 0.0 };
    }
}

/// The maximum statistic.
pub fn greatest(findings: &[Finding]) -> f64 {
    findings.iter().map(|finding| finding.statistic).filter(|x| !x.is_nan()).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With p = 0.01, 0.04, 0.03 and one feature without a test, Bonferroni triples. Holm: 3 · 0.01, then 2 · 0.03, then
    /// 0.04, which is less than 0.06 and so 0.06. Benjamini and Hochberg: 0.04 · 3/3, 0.03 · 3/2 = 0.045, which is more
    /// than 0.04 and so 0.04, and 0.01 · 3/1.
    #[test]
    fn worked_by_hand() {
        let adjusted = |correction: Correction| {
            let mut findings = [0.01, f64::NAN, 0.04, 0.03].map(|p| Finding::new(1.0, p));
            correction.adjust(&mut findings, &mut Vec::new());
            [findings[0].adjusted, findings[2].adjusted, findings[3].adjusted]
        };
        let near =
            |a: [f64; 3], b: [f64; 3]| assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-15), "{a:?}");
        near(adjusted(Correction::None), [0.01, 0.04, 0.03]);
        near(adjusted(Correction::Bonferroni), [0.03, 0.12, 0.09]);
        near(adjusted(Correction::Holm), [0.03, 0.06, 0.06]);
        near(adjusted(Correction::BenjaminiHochberg), [0.03, 0.04, 0.04]);
    }
}
