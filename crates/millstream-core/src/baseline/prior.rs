//! The class frequencies so far as probabilities, regardless of the features.

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

const NAME: &str = "baseline.Prior";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Classifier,
    words: "Class probabilities equal to the class frequencies so far",
    merge: Merge::EXACT,
    parameters: &[],
    build: |_| Ok(Built::Classifier(Box::new(Prior::default()))),
};

#[derive(Clone, Default)]
struct Prior {
    counts: ClassCounts,
}

impl Part for Prior {
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

impl Learner<Classes> for Prior {
    fn predict(&self, _x: Row<'_>, want: Want, out: &mut ClassPrediction, _scratch: &mut Scratch) {
        out.clear();
        out.class = self.counts.majority();
        if want == Want::Probabilities && out.class.is_some() {
            out.probabilities.extend(self.counts.shares());
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
    fn shares_by_hand() {
        let mut model = Prior::default();
        let (mut out, mut scratch) = (ClassPrediction::default(), Scratch::default());
        for (y, w) in [(0, 1.0), (1, 2.0), (0, 1.0), (2, 1.0)] {
            model.learn(Row::Plain(&[]), y, w, &mut scratch).unwrap();
        }
        // 2, 2 and 1 of 5; the first among equals.
        model.predict(Row::Plain(&[]), Want::Probabilities, &mut out, &mut scratch);
        assert_eq!((out.class, out.probabilities), (Some(0), vec![0.4, 0.4, 0.2]));
    }
}
