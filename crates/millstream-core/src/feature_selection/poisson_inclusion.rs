//! Includes each feature at random, the more probably the more often it was seen.
//!
//! In each learned row in which it is not 0, a feature is included with probability p, and then for ever (McMahan et al., 2013,
//! section 4.1). So the row that includes it is geometrically distributed: it is the N-th with it, N = 1 +
//! ⌊ln U / ln(1 − p)⌋, U uniform in (0, 1). N is a function of the seed and the name of the feature, and the state is
//! a count of each feature. Therefore the features that are included do not depend on the order of columns, and two
//! parts of a stream merge to that of the whole.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::held::state::{pack, unpack};
use crate::merging::{Merge, Merger};
use crate::numeric::elementary::{ln, ln_1p};
use crate::numeric::random::Random;
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Part};
use crate::preprocessing::{hash_64, Tokens};
use crate::row::{Row, RowBuffer, Scratch, Value};
use crate::schema::Schema;
use crate::task::Truth;
use crate::transformer::Transformer;

use super::mask::mask;

const NAME: &str = "feature_selection.PoissonInclusion";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Transformer,
    words: "Includes each feature after a random number of occurrences",
    merge: Merge::EXACT,
    parameters: &[
        Parameter::new(
            "p",
            Kind::Float(Bounds::FRACTION),
            DefaultValue::Required,
            "probability that a row includes a feature that was not included before",
        ),
        Parameter::new("seed", Kind::Integer { low: 0, high: i64::MAX }, DefaultValue::Integer(1), "random seed"),
    ],
    build: |arguments| {
        Ok(Built::Transformer(Box::new(PoissonInclusion {
            p: arguments.float("p")?,
            seed: arguments.integer("seed")? as u64,
            due: Tokens::default(),
            state: State::default(),
            undo: Undo::default(),
        })))
    },
};

#[derive(Clone)]
struct PoissonInclusion {
    p: f64,
    seed: u64,
    /// The row with a feature that includes it.
    due: Tokens<u64>,
    state: State,
    undo: Undo,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    /// By slot: number of learned rows with the feature; 2⁶⁴ − 1 stands for more.
    counts: Vec<u64>,
}

/// The slots that the last row counted, and the width before.
#[derive(Clone, Debug, Default)]
struct Undo {
    slots: Vec<u32>,
    width: usize,
}

impl PoissonInclusion {
    fn keeps(&self, slot: usize) -> bool {
        match (self.state.counts.get(slot), self.due.number(slot)) {
            (Some(count), Some(due)) => count >= due,
            _ => false,
        }
    }
}

/// The number of trials with probability `p` up to the first success.
fn trials(p: f64, u: f64) -> u64 {
    if p >= 1.0 {
        return 1;
    }
    // At least 1 and, for the smallest p, at most about 2⁶⁴: a cast saturates.
    1 + ((ln(u) / ln_1p(-p)) as u64).min(u64::MAX - 2)
}

impl Part for PoissonInclusion {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        self.state = unpack(NAME, bytes)?;
        self.due = Tokens::default();
        self.undo = Undo::default();
        Ok(())
    }

    fn infallible(&self) -> bool {
        true
    }

    fn memory(&self) -> usize {
        let undo = self.undo.slots.capacity() * 4;
        std::mem::size_of::<Self>() + self.state.counts.capacity() * 8 + self.due.memory() + undo
    }

    fn abilities(&self) -> Abilities {
        Abilities { needs_names: true, keeps_missing: true, ..Abilities::default() }
    }

    fn bind(&mut self, schema: &Schema) {
        let (p, seed) = (self.p, self.seed);
        self.due.bind(schema, |name| trials(p, Random::new(seed, hash_64(name)).open_unit()));
    }

    fn merge_state(&mut self, merger: &Merger<'_>) -> Result<()> {
        for (side, sign) in merger.sides() {
            let there: State = unpack(NAME, side.state)?;
            for (here, count) in side.slots(merger.ours).into_iter().zip(there.counts) {
                if self.state.counts.len() <= here {
                    self.state.counts.resize(here + 1, 0);
                }
                let ours = &mut self.state.counts[here];
                *ours = if sign > 0.0 { ours.saturating_add(count) } else { ours.saturating_sub(count) };
            }
        }
        self.undo = Undo::default();
        Ok(())
    }

    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        let included = schema.names().enumerate().filter(|(slot, _)| self.keeps(*slot));
        json!({ "included": included.map(|(_, name)| name.text()).collect::<Vec<_>>() })
    }
}

impl Transformer for PoissonInclusion {
    fn transform(&self, x: Row<'_>, out: &mut RowBuffer, _: &mut Scratch) {
        mask(x, out, |slot| self.keeps(slot));
    }

    fn learn(&mut self, x: Row<'_>, _y: Truth, _w: f64, _: &mut Scratch) -> Result<()> {
        let PoissonInclusion { state: State { counts }, undo, .. } = self;
        undo.slots.clear();
        undo.width = counts.len();
        // A 0 is as good as absent, as in a sparse row.
        x.each(|slot, value| {
            if matches!(value, Value::Number(number) if number != 0.0) {
                if counts.len() <= slot {
                    counts.resize(slot + 1, 0);
                }
                if counts[slot] < u64::MAX {
                    counts[slot] += 1;
                    undo.slots.push(slot as u32);
                }
            }
        });
        Ok(())
    }

    fn undo(&mut self) {
        for slot in self.undo.slots.drain(..) {
            self.state.counts[slot as usize] -= 1;
        }
        self.state.counts.truncate(self.undo.width);
    }

    fn keeps_names(&self) -> bool {
        true
    }

    fn output(&self, input: &Schema) -> Schema {
        input.clone()
    }

    fn duplicate(&self) -> Box<dyn Transformer> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trials_by_hand() {
        // ln 0.3 / ln 0.5 = 1.74: the second trial. U = 0.6: the first. A U near 0 takes long.
        assert_eq!((trials(0.5, 0.3), trials(0.5, 0.6), trials(1.0, 0.01)), (2, 1, 1));
        assert_eq!(trials(0.5, 1.0 / 1024.5), 11);
        assert!(trials(1e-300, 0.5) > 1 << 60);
    }

    #[test]
    fn a_feature_is_included_when_it_is_due() {
        use crate::schema::FeatureKind::Number;
        let mut part = PoissonInclusion {
            p: 0.1,
            seed: 3,
            due: Tokens::default(),
            state: State::default(),
            undo: Undo::default(),
        };
        let mut schema = Schema::default();
        schema.push(&"a".into(), Number);
        part.bind(&schema);
        let due = *part.due.number(0).unwrap();
        let mut scratch = Scratch::default();
        for row in 1..=due {
            assert!(!part.keeps(0));
            let before = part.save().unwrap();
            part.learn(Row::Plain(&[1.0]), Truth::None, 1.0, &mut scratch).unwrap();
            assert_eq!(part.keeps(0), row == due);
            if row == 1 {
                part.undo();
                assert_eq!(part.save().unwrap(), before);
                part.learn(Row::Plain(&[1.0]), Truth::None, 1.0, &mut scratch).unwrap();
            }
        }
    }
}
