//! A weighted sample without replacement of all rows so far: A-ExpJ, in `weighted`.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::record::Stored;
use super::weighted::{ln_weight, Weighted};
use super::{SEED, SIZE};
use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::held::state::{pack, require, unpack};
use crate::merging::Merge;
use crate::numeric::random::Random;
use crate::part::Part;
use crate::sampler::{Offer, Sampler};
use crate::schema::Schema;

const NAME: &str = "sampling.WeightedReservoir";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Sampler,
    words: "A sample of all rows so far in which rows of larger weight are more likely",
    merge: Merge::approximate("a sample with the distribution of one of the whole stream, with other draws"),
    parameters: &[SIZE, SEED],
    build: |arguments| {
        let random = Random::new(arguments.integer("seed")? as u64, PURPOSE);
        let state = State { random, weighted: Weighted::default() };
        Ok(Built::Sampler(Box::new(WeightedReservoir { size: arguments.size("size")?, state })))
    },
};

const PURPOSE: u64 = 0x7765_6967_6874_6564;

#[derive(Clone)]
struct WeightedReservoir {
    size: usize,
    state: State,
}

#[derive(Clone, Serialize, Deserialize)]
struct State {
    random: Random,
    weighted: Weighted,
}

impl Part for WeightedReservoir {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        require(NAME, state.weighted.is_valid(self.size), "the keys do not agree with the size")?;
        self.state = state;
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.state.weighted.memory()
    }

    fn inspect(&self, _schema: &Schema) -> serde_json::Value {
        json!({ "rows": self.state.weighted.rows().len() })
    }
}

impl Sampler for WeightedReservoir {
    fn learn(&mut self, offer: Offer<'_>, row: &mut dyn FnMut() -> Stored) -> Result<()> {
        let State { random, weighted } = &mut self.state;
        weighted.receive(self.size, offer.w, || ln_weight(offer.w), random, row);
        Ok(())
    }

    fn each_row(&self, visit: &mut dyn FnMut(&Stored)) {
        self.state.weighted.rows().0.iter().for_each(visit);
    }

    fn each_held_mut(&mut self, visit: &mut dyn FnMut(&mut Stored)) {
        self.state.weighted.rows_mut().0.iter_mut().for_each(visit);
    }

    fn merge(&mut self, other: &[u8]) -> Result<()> {
        let other: State = unpack(NAME, other)?;
        self.state.weighted.merge(other.weighted, self.size, &mut self.state.random);
        Ok(())
    }

    fn duplicate(&self) -> Box<dyn Sampler> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use crate::sampler::testing::{drawn, fits, learn, sampler};
    use serde_json::json;

    const WEIGHTS: [f64; 4] = [1.0, 2.0, 3.0, 4.0];

    /// The probability of each pair of rows, in the order of `PAIRS`: draw a row by weight, then another of the rest.
    fn probabilities() -> Vec<f64> {
        let both = |i: usize, j: usize| WEIGHTS[i] / 10.0 * WEIGHTS[j] / (10.0 - WEIGHTS[i]);
        PAIRS.iter().map(|&[i, j]| both(i as usize, j as usize) + both(j as usize, i as usize)).collect()
    }

    const PAIRS: [[i64; 2]; 6] = [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]];

    fn index(drawn: &[i64]) -> usize {
        PAIRS.iter().position(|pair| pair == drawn).expect("two rows")
    }

    #[test]
    fn pairs_have_the_probabilities_of_successive_draws() {
        let mut counts = [0; 6];
        for seed in 0..3000 {
            let mut reservoir = sampler("WeightedReservoir", json!({ "size": 2, "seed": seed }));
            // A row of weight 0 is never drawn.
            let zero = [(9, 0.0, None)];
            learn(&mut reservoir, zero.into_iter().chain((0..4).map(|x| (x, WEIGHTS[x as usize], None))));
            counts[index(&drawn(&reservoir))] += 1;
        }
        assert!(fits(&counts, &probabilities()) > 1e-3, "{counts:?} {:?}", probabilities());
    }

    #[test]
    fn a_merged_sample_has_the_same_probabilities() {
        for (first, after) in [(1, 0), (2, 1), (3, 0), (0, 1)] {
            let mut counts = [0; 6];
            for seed in 0..3000 {
                let row = |x: i64| (x, WEIGHTS[x as usize], None);
                let mut ours = sampler("WeightedReservoir", json!({ "size": 2, "seed": 2 * seed }));
                let mut theirs = sampler("WeightedReservoir", json!({ "size": 2, "seed": 2 * seed + 1 }));
                learn(&mut ours, (0..first).map(row));
                learn(&mut theirs, (first..4 - after).map(row));
                ours.merge(&theirs, None).expect("different seeds");
                learn(&mut ours, (4 - after..4).map(row));
                counts[index(&drawn(&ours))] += 1;
            }
            assert!(fits(&counts, &probabilities()) > 1e-3, "{first} {after} {counts:?}");
        }
    }
}
