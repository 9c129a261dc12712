//! The two-sample Kolmogorov-Smirnov statistic of the first and the second numbers of pairs.
//!
//! D = sup |F₁ − F₂| over the empirical distribution functions, or with Kuiper (1960) sup (F₁ − F₂) + sup (F₂ − F₁), which
//! is as sensitive in the tails as at the median. Both samples are kept in the order of arrival, and
//! sorted when the value is asked for.

use serde::{Deserialize, Serialize};

use super::{never_told, overflow};
use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::merging::{not_subtractable, Merge};
use crate::parameter::{Default as DefaultValue, Kind, Parameter};
use crate::part::Part;
use crate::statistic::Statistic;

const NAME: &str = "stats.KolmogorovSmirnov";
/// The largest number of pairs: they are all kept.
const MOST: usize = 1 << 20;

pub static KOLMOGOROV_SMIRNOV: Declaration = Declaration {
    name: NAME,
    role: Role::Statistic,
    words: "Two-sample Kolmogorov-Smirnov or Kuiper statistic",
    merge: Merge::EXACT,
    parameters: &[Parameter::new(
        "statistic",
        Kind::Choice(&["ks", "kuiper"]),
        DefaultValue::Text("ks"),
        "Kolmogorov-Smirnov or Kuiper",
    )],
    build: |arguments| {
        let kuiper = arguments.text("statistic")? == "kuiper";
        Ok(Built::Statistic(Box::new(KolmogorovSmirnov { kuiper, samples: Samples::default() })))
    },
};

#[derive(Clone)]
struct KolmogorovSmirnov {
    kuiper: bool,
    samples: Samples,
}

/// Numbers with their weights.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Samples {
    first: Vec<(f64, f64)>,
    second: Vec<(f64, f64)>,
    total: f64,
}

impl Part for KolmogorovSmirnov {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.samples)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let samples: Samples = unpack(NAME, bytes)?;
        let Samples { first, second, total } = &samples;
        require(NAME, first.len() == second.len() && first.len() <= MOST, "samples of the wrong length")?;
        let sound = |&(x, w): &(f64, f64)| x.is_finite() && w.is_finite() && w > 0.0;
        require(NAME, first.iter().chain(second).all(sound) && total.is_finite(), "a number is not finite")?;
        require(NAME, *total > 0.0 || first.is_empty(), "a total is not positive")?;
        self.samples = samples;
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + 16 * (self.samples.first.capacity() + self.samples.second.capacity())
    }
}

impl Statistic for KolmogorovSmirnov {
    fn update(&mut self, x: f64, y: f64, w: f64) -> Result<()> {
        if w < 0.0 {
            return Err(never_told(NAME));
        }
        let Samples { first, second, total } = &mut self.samples;
        if first.len() >= MOST {
            return Err(Fault::value(format!(
                "{NAME}: it holds {MOST} pairs, and each is kept: use stats.Rolling for a longer stream"
            )));
        }
        if *total + w > 1e300 {
            return Err(overflow(NAME));
        }
        *total += w;
        first.push((x, w));
        second.push((y, w));
        Ok(())
    }

    fn get(&self) -> f64 {
        let Samples { mut first, mut second, .. } = self.samples.clone();
        if first.is_empty() {
            return f64::NAN;
        }
        first.sort_by(|a, b| a.0.total_cmp(&b.0));
        second.sort_by(|a, b| a.0.total_cmp(&b.0));
        // The sums of all weights may differ in the last digit, since the orders differ.
        let sum = |sample: &[(f64, f64)]| sample.iter().map(|entry| entry.1).sum::<f64>();
        let (n, m) = (sum(&first), sum(&second));
        let (mut i, mut j) = (0, 0);
        let (mut below_x, mut below_y) = (0.0, 0.0);
        let (mut above, mut under) = (0.0f64, 0.0f64);
        while i < first.len() && j < second.len() {
            let at = first[i].0.min(second[j].0);
            while i < first.len() && first[i].0 == at {
                below_x += first[i].1;
                i += 1;
            }
            while j < second.len() && second[j].0 == at {
                below_y += second[j].1;
                j += 1;
            }
            let difference = below_x / n - below_y / m;
            above = above.max(difference);
            under = under.max(-difference);
        }
        if self.kuiper {
            above + under
        } else {
            above.max(under)
        }
    }

    fn takes_pairs(&self) -> bool {
        true
    }

    fn reset(&mut self) {
        self.samples = Samples::default();
    }

    fn merge(&mut self, other: &[u8]) -> Result<()> {
        let mut theirs = self.clone();
        theirs.load(other)?;
        let mut next = self.samples.clone();
        if next.first.len() + theirs.samples.first.len() > MOST {
            return Err(Fault::value(format!("together there are more than {MOST} pairs")));
        }
        next.first.extend(&theirs.samples.first);
        next.second.extend(&theirs.samples.second);
        next.total += theirs.samples.total;
        self.samples = next;
        Ok(())
    }

    fn merge_base(&mut self, _base: &[u8]) -> Result<()> {
        Err(not_subtractable())
    }

    fn duplicate(&self) -> Box<dyn Statistic> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_by_hand() {
        // First 1, 3, and second 2, 4: F₁ − F₂ is ½ from 1, 0 from 2, ½ from 3, 0 from 4. First 1, 4 and second 2, 3:
        // ½ from 1, 0 from 2, −½ from 3: Kuiper adds both.
        for (kuiper, pairs, expected) in [
            (false, [(1.0, 2.0), (3.0, 4.0)], 0.5),
            (false, [(1.0, 2.0), (4.0, 3.0)], 0.5),
            (true, [(1.0, 2.0), (4.0, 3.0)], 1.0),
        ] {
            let mut statistic = KolmogorovSmirnov { kuiper, samples: Samples::default() };
            for (x, y) in pairs {
                statistic.update(x, y, 1.0).expect("a good pair");
            }
            assert_eq!(statistic.get(), expected);
        }
    }
}
