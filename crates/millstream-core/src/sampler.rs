//! Samplers: they receive the rows of a stream and keep a random sample of them. The trait, and its verbs when it is held.
//!
//! The decision comes before the row: a sampler decides from weight, time and key, and asks for the row only if it keeps
//! it. Passing a row costs a counter, whatever the row's width.

use crate::fault::{Fault, Result, Shown};
use crate::held::{hold_boxed, Held, Seeds};
use crate::key::Key;
use crate::labels::Labels;
use crate::merging::Merger;
use crate::part::Part;
use crate::sampling::record::Stored;
use crate::schema::Name;

/// What a sampler decides from.
#[derive(Clone, Copy, Debug)]
pub struct Offer<'a> {
    /// Positive and finite.
    pub w: f64,
    /// Finite, if it is given.
    pub t: Option<f64>,
    /// Given if `Sampler::key` asks for it.
    pub key: Key<'a>,
}

impl Default for Offer<'_> {
    fn default() -> Self {
        Offer { w: 1.0, t: None, key: Key::Missing }
    }
}

/// The value that a sampler decides by, besides weight and time.
#[derive(Clone, Debug, PartialEq)]
pub enum KeySource {
    Nothing,
    Feature(Name),
    Target,
}

pub trait Sampler: Part {
    /// Receive a row. `row` is called at most once, if the row is kept. After a fault the state is bit for bit what it was.
    fn learn(&mut self, offer: Offer<'_>, row: &mut dyn FnMut() -> Stored) -> Result<()>;

    /// The number of next rows that it surely passes, if they have a positive weight; and pass so many.
    fn skippable(&self) -> u64 {
        0
    }
    fn pass(&mut self, _rows: u64) {}

    /// Visit the rows of the sample.
    fn each_row(&self, visit: &mut dyn FnMut(&Stored));

    /// Visit all rows it holds, also those that may enter the sample later: by default, those of the sample.
    fn each_held(&self, visit: &mut dyn FnMut(&Stored)) {
        self.each_row(visit);
    }

    fn each_held_mut(&mut self, visit: &mut dyn FnMut(&mut Stored));

    fn key(&self) -> KeySource {
        KeySource::Nothing
    }

    /// Whether it keeps every row of this key; none if that depends on the other rows.
    fn keeps(&self, _key: Key<'_>) -> Option<bool> {
        None
    }

    /// Whether samples of two parts of a stream must have the same seed; otherwise they must have different ones.
    fn same_seed(&self) -> bool {
        false
    }

    /// Merge the saved state of the same sampler after another part of the stream, such that the result has the
    /// distribution of a sample of the whole. After a fault it is unusable: the caller has a copy.
    fn merge(&mut self, other: &[u8]) -> Result<()>;

    fn duplicate(&self) -> Box<dyn Sampler>;
}

hold_boxed!(
    Sampler,
    "sampler",
    fn merge(&mut self, merger: &Merger<'_>, _labels: &Labels) -> Result<()> {
        (**self).merge(merger.without_base()?.state)
    },
    fn seeds(&self) -> Seeds {
        if self.same_seed() {
            Seeds::Same
        } else {
            Seeds::Different
        }
    }
);

impl Held<Box<dyn Sampler>> {
    pub fn sampler(&self) -> &dyn Sampler {
        &*self.part
    }

    /// Give each row of the last batch that is still held; `row` reads the one at an index.
    pub fn each_held_mut(&mut self, visit: &mut dyn FnMut(&mut Stored)) {
        self.part.each_held_mut(visit);
    }

    /// Receive a row. A row of weight 0 leaves no trace.
    #[inline]
    pub fn learn(&mut self, offer: Offer<'_>, row: &mut dyn FnMut() -> Stored) -> Result<()> {
        if !(0.0..f64::INFINITY).contains(&offer.w) || offer.t.is_some_and(|t| !t.is_finite()) {
            return Err(self.refusal(offer));
        }
        if offer.w > 0.0 {
            self.part.learn(offer, row)?;
            self.count = self.count.saturating_add(1);
        }
        Ok(())
    }

    #[cold]
    fn refusal(&self, offer: Offer<'_>) -> Fault {
        let title = &self.title;
        Fault::value(match offer.t {
            Some(t) if (0.0..f64::INFINITY).contains(&offer.w) => {
                format!("{title}: t must be finite, got {}", Shown(t))
            }
            _ => format!("{title}: the weight must be finite and not negative, got {}", Shown(offer.w)),
        })
    }

    /// Receive `rows` rows of weight 1 from the one with index `from` on; their time and key do not matter.
    pub fn learn_plain(&mut self, from: usize, rows: usize) -> Result<()> {
        let mut row = 0;
        while row < rows {
            let passed = self.part.skippable().min((rows - row) as u64);
            self.part.pass(passed);
            self.count = self.count.saturating_add(passed);
            row += passed as usize;
            if row < rows {
                let pending = || Stored::Pending(from + row);
                self.learn(Offer::default(), &mut { pending }).map_err(|fault| fault.at_row(from + row))?;
                row += 1;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
pub mod testing {
    //! Shorter calls for tests.

    use serde_json::{json, Value as Json};

    use super::*;
    use crate::held;
    use crate::sampling::record::testing::{number, row};

    pub fn sampler(name: &str, parameters: Json) -> held::Sampler {
        held::Sampler::new(&json!({ "name": format!("sampling.{name}"), "parameters": parameters }))
            .expect("declared")
    }

    /// Learn rows with these numbers, of these weights and times.
    pub fn learn(sampler: &mut held::Sampler, rows: impl Iterator<Item = (i64, f64, Option<f64>)>) {
        for (x, w, t) in rows {
            sampler.learn(Offer { w, t, key: Key::Int(x) }, &mut || row(x)).expect("a good row");
        }
    }

    pub fn drawn(sampler: &held::Sampler) -> Vec<i64> {
        let mut numbers = Vec::new();
        sampler.sampler().each_row(&mut |row| numbers.push(number(row)));
        numbers.sort_unstable();
        numbers
    }

    /// The chi-square statistic of counts, and its tail probability.
    pub fn fits(counts: &[u32], expected: &[f64]) -> f64 {
        let total: f64 = counts.iter().map(|&count| f64::from(count)).sum();
        let scale = total / expected.iter().sum::<f64>();
        let term = |(&count, &share): (&u32, &f64)| (f64::from(count) - share * scale).powi(2) / (share * scale);
        let statistic = counts.iter().zip(expected).map(term).sum();
        crate::numeric::incomplete_gamma::chi_square_tail(statistic, counts.len() as f64 - 1.0)
    }
}
