//! A uniform sample of all rows so far: Algorithm L, in `uniform`.
//!
//! Every subset of `size` rows is equally likely at any moment. Two samples are merged by drawing from both in proportion
//! to the rows that they stand for.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::record::{Rows, Stored};
use super::uniform::{Decision, Uniform};
use super::{SEED, SIZE};
use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::held::state::{pack, require, unpack};
use crate::merging::Merge;
use crate::numeric::random::Random;
use crate::part::Part;
use crate::sampler::{Offer, Sampler};
use crate::schema::Schema;

const NAME: &str = "sampling.Reservoir";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Sampler,
    words: "A uniform sample of all rows so far",
    merge: Merge::approximate("a sample with the distribution of one of the whole stream, with other draws"),
    parameters: &[SIZE, SEED],
    build: |arguments| {
        let random = Random::new(arguments.integer("seed")? as u64, PURPOSE);
        let state = State { random, uniform: Uniform::default(), rows: Rows::default() };
        Ok(Built::Sampler(Box::new(Reservoir { size: arguments.size("size")?, state })))
    },
};

const PURPOSE: u64 = 0x7265_7365_7276_6f69;

#[derive(Clone)]
struct Reservoir {
    size: usize,
    state: State,
}

#[derive(Clone, Serialize, Deserialize)]
struct State {
    random: Random,
    uniform: Uniform,
    rows: Rows,
}

impl Part for Reservoir {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        let valid = state.uniform.is_valid(state.rows.len(), self.size);
        require(NAME, valid, "the number of rows does not agree with the size")?;
        self.state = state;
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.state.rows.memory()
    }

    fn inspect(&self, _schema: &Schema) -> serde_json::Value {
        json!({ "rows": self.state.rows.len(), "seen": self.state.uniform.seen() })
    }
}

impl Sampler for Reservoir {
    fn learn(&mut self, _offer: Offer<'_>, row: &mut dyn FnMut() -> Stored) -> Result<()> {
        let State { random, uniform, rows } = &mut self.state;
        match uniform.receive(rows.len(), self.size, random) {
            Decision::Append => rows.0.push(row()),
            Decision::Replace(index) => rows.0[index] = row(),
            Decision::Pass => {}
        }
        Ok(())
    }

    fn skippable(&self) -> u64 {
        match self.state.rows.len() == self.size {
            true => self.state.uniform.skippable(),
            false => 0,
        }
    }

    fn pass(&mut self, rows: u64) {
        self.state.uniform.pass(rows);
    }

    fn each_row(&self, visit: &mut dyn FnMut(&Stored)) {
        self.state.rows.0.iter().for_each(visit);
    }

    fn each_held_mut(&mut self, visit: &mut dyn FnMut(&mut Stored)) {
        self.state.rows.0.iter_mut().for_each(visit);
    }

    fn merge(&mut self, other: &[u8]) -> Result<()> {
        let mut other: State = unpack(NAME, other)?;
        let State { random, uniform, rows } = &mut self.state;
        let counts = (rows.len(), other.rows.len());
        let mut kept = Vec::with_capacity((counts.0 + counts.1).min(self.size));
        uniform.merge(&other.uniform, counts, self.size, random, &mut |ours, index| {
            kept.push(if ours { rows.0.swap_remove(index) } else { other.rows.0.swap_remove(index) });
        });
        rows.0 = kept;
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

    /// Which of the six pairs of four rows was drawn.
    fn pair(drawn: &[i64]) -> usize {
        match drawn {
            [0, 1] => 0,
            [0, 2] => 1,
            [0, 3] => 2,
            [1, 2] => 3,
            [1, 3] => 4,
            _ => 5,
        }
    }

    #[test]
    fn all_pairs_of_four_rows_are_equally_likely() {
        let mut counts = [0; 6];
        for seed in 0..3000 {
            let mut reservoir = sampler("Reservoir", json!({ "size": 2, "seed": seed }));
            learn(&mut reservoir, (0..4).map(|x| (x, 1.0, None)));
            counts[pair(&drawn(&reservoir))] += 1;
        }
        assert!(fits(&counts, &[1.0; 6]) > 1e-3, "{counts:?}");
    }

    #[test]
    fn a_merged_sample_is_uniform_and_so_is_its_continuation() {
        for (first, second, after) in [(1, 3, 0), (3, 1, 0), (2, 1, 1), (0, 3, 1), (1, 1, 2)] {
            let mut counts = [0; 6];
            for seed in 0..3000 {
                let mut ours = sampler("Reservoir", json!({ "size": 2, "seed": 2 * seed }));
                let mut theirs = sampler("Reservoir", json!({ "size": 2, "seed": 2 * seed + 1 }));
                learn(&mut ours, (0..first).map(|x| (x, 1.0, None)));
                learn(&mut theirs, (first..first + second).map(|x| (x, 1.0, None)));
                ours.merge(&theirs, None).expect("different seeds");
                learn(&mut ours, (first + second..first + second + after).map(|x| (x, 1.0, None)));
                assert_eq!(ours.count(), 4);
                counts[pair(&drawn(&ours))] += 1;
            }
            assert!(fits(&counts, &[1.0; 6]) > 1e-3, "{first} {second} {after} {counts:?}");
        }
    }

    #[test]
    fn rows_that_pass_at_once_are_rows_that_pass_one_by_one() {
        let mut one = sampler("Reservoir", json!({ "size": 3 }));
        let mut many = one.clone();
        learn(&mut one, (0..1000).map(|x| (x, 1.0, None)));
        for (from, rows) in [(0, 1), (1, 1), (2, 500), (502, 498)] {
            many.learn_plain(from, rows).expect("nothing to refuse");
        }
        let mut indices = Vec::new();
        many.sampler().each_row(&mut |row| match row {
            crate::sampling::record::Stored::Pending(index) => indices.push(*index as i64),
            crate::sampling::record::Stored::Row(_) => {}
        });
        indices.sort_unstable();
        assert_eq!((indices, many.count()), (drawn(&one), 1000));
    }

    #[test]
    fn equal_seeds_are_not_merged() {
        let mut reservoir = sampler("Reservoir", json!({ "size": 2, "seed": 4 }));
        let fault = reservoir.clone().merge(&reservoir, None).unwrap_err();
        assert!(fault.message().contains("both have seed 4"), "{fault}");
        let larger = sampler("Reservoir", json!({ "size": 3, "seed": 5 }));
        assert!(reservoir.merge(&larger, None).unwrap_err().message().contains("size 2 and 3"));
    }
}
