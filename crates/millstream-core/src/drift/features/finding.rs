//! What a check says of each feature, and how many features at once are kept from raising false alarms.

use serde::{Deserialize, Serialize};

/// What a check found of a feature. One that could not be tested has NaN for all numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// How far it moved, in the detector's own measure.
    pub statistic: f64,
    /// The chance of this or more where nothing has moved, of this feature alone.
    pub p_value: f64,
    /// The same, corrected for the number of features: the least level at which it would count as moved.
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
        let share = |x: f64| x.is_nan() || (0.0..=1.0).contains(&x);
        !self.statistic.is_infinite() && share(self.p_value) && share(self.adjusted)
    }
}

/// How sure a check is that something has changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Level {
    #[default]
    Nothing,
    Warning,
    Drift,
}

/// How p-values of many features are corrected.
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

    /// Write the adjusted p-values: of the k-th smallest of n, n p (Bonferroni), the greatest (n − i + 1) p of those up
    /// to it (Holm, 1979), or the least n p / i of those from it on (Benjamini and Hochberg, 1995).
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
                for (place, &slot) in order.iter().enumerate() {
                    let finding = &mut findings[slot as usize];
                    greatest = greatest.max((n - place as f64) * finding.p_value);
                    finding.adjusted = greatest.min(1.0);
                }
            }
            Correction::BenjaminiHochberg => {
                let mut least = 1.0f64;
                for (place, &slot) in order.iter().enumerate().rev() {
                    let finding = &mut findings[slot as usize];
                    least = least.min(n * finding.p_value / (place + 1) as f64);
                    finding.adjusted = least;
                }
            }
        }
    }
}

/// At which chance of a false alarm something is a change, or a warning.
#[derive(Clone, Copy, Debug)]
pub struct Significance {
    pub alpha: f64,
    pub warning: f64,
    pub correction: Correction,
}

impl Significance {
    /// Correct the findings and mark those that moved: significant, and by at least `threshold`.
    pub fn judge(&self, findings: &mut [Finding], threshold: f64, order: &mut Vec<u32>) -> Level {
        self.correction.adjust(findings, order);
        let mut level = Level::Nothing;
        for finding in findings.iter_mut().filter(|finding| finding.statistic >= threshold) {
            finding.moved = finding.adjusted <= self.alpha;
            level = level.max(self.level(finding.adjusted));
        }
        level
    }

    /// What one p-value means.
    pub fn level(&self, p_value: f64) -> Level {
        if p_value <= self.alpha {
            Level::Drift
        } else if p_value <= self.warning {
            Level::Warning
        } else {
            Level::Nothing
        }
    }
}

/// The feature that moved most: the least p-value, among equals the greatest statistic, then the first.
pub fn most_moved(a: &Finding, b: &Finding) -> std::cmp::Ordering {
    // NaN, which was not tested, comes last.
    let key = |x: f64| if x.is_nan() { f64::INFINITY } else { x };
    key(a.p_value).total_cmp(&key(b.p_value)).then(key(-a.statistic).total_cmp(&key(-b.statistic)))
}

/// At a change that no feature shows by itself, name the one that says most; at none, name none.
pub fn name_at_least_one(findings: &mut [Finding], level: Level) {
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

/// Let the statistic of each feature be its share of all that was said.
pub fn share_out(findings: &mut [Finding], said: impl Iterator<Item = f64> + Clone) {
    let all: f64 = said.clone().sum();
    for (finding, said) in findings.iter_mut().zip(said) {
        finding.statistic = if all > 0.0 && all.is_finite() { said / all } else { 0.0 };
    }
}

/// The greatest statistic.
pub fn greatest(findings: &[Finding]) -> f64 {
    findings.iter().map(|finding| finding.statistic).filter(|x| !x.is_nan()).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of p = 0.01, 0.04, 0.03 and one that was not tested: Bonferroni triples. Holm: 3 · 0.01, then 2 · 0.03, then
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
