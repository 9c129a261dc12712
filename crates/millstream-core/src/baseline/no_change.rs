//! The class of the last example: persistence, which is hard to beat if labels come in runs.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::held::state::{pack, require, unpack};
use crate::key_use::KeyUses;
use crate::learner::Learner;
use crate::merging::Merge;
use crate::part::Part;
use crate::row::{Row, Scratch, Want};
use crate::schema::Schema;
use crate::task::{ClassPrediction, Classes};

const NAME: &str = "baseline.NoChange";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Classifier,
    words: "The class of the last example",
    merge: Merge::ORDER,
    parameters: &[],
    build: |_| Ok(Built::Classifier(Box::new(NoChange::default()))),
};

#[derive(Clone, Default, Serialize, Deserialize)]
struct NoChange {
    last: Option<u32>,
    /// Whether a class has appeared, by code.
    come: Vec<bool>,
}

impl Part for NoChange {
    fn key_uses(&self) -> KeyUses {
        KeyUses::unused()
    }

    fn save(&self) -> Result<Vec<u8>> {
        pack(self)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let loaded: Self = unpack(NAME, bytes)?;
        let known = |last: u32| loaded.come.get(last as usize).is_some_and(|&come| come);
        require(NAME, loaded.last.map_or(loaded.come.is_empty(), known), "the last class is unknown")?;
        *self = loaded;
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.come.capacity()
    }

    fn inspect(&self, _schema: &Schema) -> serde_json::Value {
        json!({ "last": self.last })
    }
}

impl Learner<Classes> for NoChange {
    fn predict(&self, _x: Row<'_>, want: Want, out: &mut ClassPrediction, _scratch: &mut Scratch) {
        out.clear();
        out.class = self.last;
        if let (Want::Probabilities, Some(last)) = (want, self.last) {
            out.probabilities.resize(self.come.len(), 0.0);
            out.probabilities[last as usize] = 1.0;
        }
    }

    fn learn(&mut self, _x: Row<'_>, y: u32, _w: f64, _scratch: &mut Scratch) -> Result<()> {
        let code = y as usize;
        if self.come.len() <= code {
            self.come.resize(code + 1, false);
        }
        self.come[code] = true;
        self.last = Some(y);
        Ok(())
    }

    fn duplicate(&self) -> Box<dyn Learner<Classes>> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_class() {
        let mut model = NoChange::default();
        let (mut out, mut scratch) = (ClassPrediction::default(), Scratch::default());
        model.predict(Row::Plain(&[]), Want::Probabilities, &mut out, &mut scratch);
        assert_eq!(out.class, None);
        model.learn(Row::Plain(&[]), 1, 1.0, &mut scratch).unwrap();
        model.learn(Row::Plain(&[]), 2, 1.0, &mut scratch).unwrap();
        model.predict(Row::Plain(&[]), Want::Probabilities, &mut out, &mut scratch);
        assert_eq!((out.class, out.probabilities), (Some(2), vec![0.0, 0.0, 1.0]));
    }
}
