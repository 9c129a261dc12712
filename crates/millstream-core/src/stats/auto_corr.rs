//! The correlation of a series with itself, shifted: of each number with the one `lag` steps before.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::never_told;
use super::pairs::{Pairs, State as PairState};
use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::held::state::{pack, require, unpack};
use crate::merging::Merge;
use crate::numeric::magnitude::{check_numbers, LARGEST};
use crate::parameter::{Default as DefaultValue, Kind, Parameter};
use crate::part::Part;
use crate::statistic::Statistic;

const NAME: &str = "stats.AutoCorr";

pub static AUTO_CORR: Declaration = Declaration {
    name: NAME,
    role: Role::Statistic,
    words: "Correlation of a series with its past",
    merge: Merge::ORDER,
    parameters: &[Parameter::new(
        "lag",
        Kind::Integer { low: 1, high: 1 << 24 },
        DefaultValue::Integer(1),
        "number of steps between the two numbers of a pair",
    )],
    build: |arguments| {
        let lag = arguments.size("lag")?;
        let pairs = Pairs { name: NAME, ddof: None, state: PairState::default() };
        Ok(Built::Statistic(Box::new(AutoCorr { lag, last: VecDeque::new(), pairs })))
    },
};

#[derive(Clone)]
struct AutoCorr {
    lag: usize,
    /// The last `lag` numbers, oldest first.
    last: VecDeque<f64>,
    pairs: Pairs,
}

#[derive(Serialize, Deserialize)]
struct State {
    last: Vec<f64>,
    pairs: PairState,
}

impl Part for AutoCorr {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&State { last: self.last.iter().copied().collect(), pairs: self.pairs.state })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let State { last, pairs } = unpack(NAME, bytes)?;
        require(NAME, last.len() <= self.lag, "more numbers than the lag")?;
        let sound = last.iter().all(|x| x.is_finite()) && pairs.is_finite();
        require(NAME, sound, "a number is not finite")?;
        (self.last, self.pairs.state) = (last.into(), pairs);
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + 8 * self.last.capacity()
    }
}

impl Statistic for AutoCorr {
    fn update(&mut self, x: f64, _y: f64, w: f64) -> Result<()> {
        if w < 0.0 {
            return Err(never_told(NAME));
        }
        check_numbers(NAME, &[x], LARGEST)?;
        if self.last.len() == self.lag {
            if let Some(&before) = self.last.front() {
                self.pairs.update(x, before, w)?;
                self.last.pop_front();
            }
        }
        self.last.push_back(x);
        Ok(())
    }

    fn largest(&self) -> f64 {
        LARGEST
    }

    fn get(&self) -> f64 {
        self.pairs.get()
    }

    fn reset(&mut self) {
        self.last.clear();
        self.pairs.reset();
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
        // 1, 3, 2, 4 at lag 1: the pairs (3, 1), (2, 3), (4, 2) have means 3 and 2, C = 0 − 1 + 0 = −1, squares 2 and 2.
        let pairs = Pairs { name: NAME, ddof: None, state: PairState::default() };
        let mut statistic = AutoCorr { lag: 1, last: VecDeque::new(), pairs };
        for x in [1.0, 3.0, 2.0, 4.0] {
            statistic.update(x, 0.0, 1.0).expect("a good number");
        }
        assert!((statistic.get() + 0.5).abs() < 1e-15);
    }
}
