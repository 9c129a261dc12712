//! The most frequent class so far, regardless of the features.
//!
//! It predicts probability 1 for that class; `baseline.Prior` predicts the frequencies instead.

use crate::declaration::{Built, Declaration, Role};
use crate::exchange::Exchange;
use crate::fault::Result;
use crate::held::state::pack;
use crate::key_use::KeyUses;
use crate::learner::Learner;
use crate::merging::{Merge, Merger};
use crate::part::Part;
use crate::row::{Row, Scratch, Want};
use crate::schema::Schema;
use crate::task::{ClassPrediction, Classes};

use super::class_counts::ClassCounts;

const NAME: &str = "baseline.MajorityClass";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Classifier,
    words: "The most frequent class so far",
    merge: Merge::EXACT,
    parameters: &[],
    build: |_| Ok(Built::Classifier(Box::new(MajorityClass::default()))),
};

#[derive(Clone, Default)]
struct MajorityClass {
    counts: ClassCounts,
}

impl Part for MajorityClass {
    fn key_uses(&self) -> KeyUses {
        KeyUses::unused()
    }

    fn exchange(&mut self, exchange: &mut Exchange<'_>) -> bool {
        self.counts.exchange(exchange)
    }

    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.counts)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        self.counts = ClassCounts::load(NAME, bytes)?;
        Ok(())
    }

    fn merge_state(&mut self, merger: &Merger<'_>) -> Result<()> {
        self.counts.merge(NAME, merger)
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.counts.memory()
    }

    fn inspect(&self, _schema: &Schema) -> serde_json::Value {
        self.counts.inspect()
    }
}

impl Learner<Classes> for MajorityClass {
    fn predict(&self, _x: Row<'_>, want: Want, out: &mut ClassPrediction, _scratch: &mut Scratch) {
        out.clear();
        out.class = self.counts.majority();
        if let (Want::Probabilities, Some(class)) = (want, out.class) {
            out.probabilities.resize(self.counts.len(), 0.0);
            out.probabilities[class as usize] = 1.0;
        }
    }

    fn learn(&mut self, _x: Row<'_>, y: u32, w: f64, _scratch: &mut Scratch) -> Result<()> {
        self.counts.learn(NAME, y, w)
    }

    fn duplicate(&self) -> Box<dyn Learner<Classes>> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_decide() {
        let mut model = MajorityClass::default();
        let (mut out, mut scratch) = (ClassPrediction::default(), Scratch::default());
        for (y, w) in [(0, 1.0), (1, 2.5), (0, 1.0)] {
            model.learn(Row::Plain(&[]), y, w, &mut scratch).unwrap();
        }
        // 2 against 2.5.
        model.predict(Row::Plain(&[]), Want::Probabilities, &mut out, &mut scratch);
        assert_eq!((out.class, out.probabilities), (Some(1), vec![0.0, 1.0]));
    }
}
