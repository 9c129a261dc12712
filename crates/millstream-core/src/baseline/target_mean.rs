//! The mean of the targets so far, regardless of the features: n ← n + w, m ← m + (y − m) w/n.
//!
//! Before the first example it predicts 0.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::declaration::{Built, Declaration, Role};
use crate::exchange::Exchange;
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::key_use::KeyUses;
use crate::learner::Learner;
use crate::merging::{combined_moments, Merge, Merger};
use crate::part::Part;
use crate::row::{Row, Scratch, Want};
use crate::schema::Schema;
use crate::task::Numbers;

const NAME: &str = "baseline.TargetMean";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Regressor,
    words: "The mean of the targets so far",
    merge: Merge::EXACT,
    parameters: &[],
    build: |_| Ok(Built::Regressor(Box::new(TargetMean::default()))),
};

#[derive(Clone, Default, Serialize, Deserialize)]
struct TargetMean {
    count: f64,
    mean: f64,
}

impl Part for TargetMean {
    fn key_uses(&self) -> KeyUses {
        KeyUses::unused()
    }

    fn exchange(&mut self, exchange: &mut Exchange<'_>) -> bool {
        exchange.float(&mut self.count);
        exchange.float(&mut self.mean);
        true
    }

    fn save(&self) -> Result<Vec<u8>> {
        pack(self)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let loaded: Self = unpack(NAME, bytes)?;
        let sound = loaded.count.is_finite() && loaded.count >= 0.0 && loaded.mean.is_finite();
        require(NAME, sound, "a number is not finite")?;
        *self = loaded;
        Ok(())
    }

    fn merge_state(&mut self, merger: &Merger<'_>) -> Result<()> {
        for (side, sign) in merger.sides() {
            let mut other = TargetMean::default();
            other.load(side.state)?;
            let ours = (self.count, self.mean, 0.0);
            (self.count, self.mean, _) = combined_moments(ours, (other.count, other.mean, 0.0), sign);
        }
        match self.count.is_finite() && self.mean.is_finite() {
            true => Ok(()),
            false => Err(Fault::overflow(NAME)),
        }
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>()
    }

    fn inspect(&self, _schema: &Schema) -> serde_json::Value {
        json!({ "count": self.count, "mean": self.mean })
    }
}

impl Learner<Numbers> for TargetMean {
    fn predict(&self, _x: Row<'_>, _want: Want, out: &mut f64, _scratch: &mut Scratch) {
        *out = self.mean;
    }

    fn learn(&mut self, _x: Row<'_>, y: f64, w: f64, _scratch: &mut Scratch) -> Result<()> {
        let count = self.count + w;
        let mean = self.mean + (y - self.mean) * (w / count);
        if !(count.is_finite() && mean.is_finite()) {
            return Err(Fault::overflow(NAME));
        }
        *self = TargetMean { count, mean };
        Ok(())
    }

    fn duplicate(&self) -> Box<dyn Learner<Numbers>> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learner::testing::Numeric;

    #[test]
    fn a_weighted_mean_by_hand() {
        let mut model = TargetMean::default();
        let mut scratch = Scratch::default();
        model.learn(Row::Plain(&[]), 4.0, 1.0, &mut scratch).unwrap();
        model.learn(Row::Plain(&[]), 10.0, 3.0, &mut scratch).unwrap();
        // (4 + 3 · 10) / 4
        assert_eq!(model.number(Row::Plain(&[]), &mut scratch), 8.5);
        let mut far = TargetMean { count: 1.0, mean: 1e308 };
        assert!(far.learn(Row::Plain(&[]), -1e308, 1.0, &mut scratch).is_err());
        assert_eq!((far.count, far.mean), (1.0, 1e308));
    }
}
