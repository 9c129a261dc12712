//! Numbers as bits: near numbers share active bits (Purdy, 2016, "Encoding data for HTM systems", section 3).
//!
//! Each feature has a block of n bits of which w are active. A number x in [low, high] activates the w bits from
//! round((x − low)/(high − low) · (n − w)) on. A periodic encoder activates the w bits from
//! ⌊(x − low)/(high − low) · n⌋ mod n on, and wraps. Numbers outside are clamped to the limits, and counted, or refused.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result, Shown};
use crate::held::state::{pack, unpack};
use crate::limits::Limits;
use crate::merging::{Merge, Merger};
use crate::parameter::{Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Part};
use crate::row::{Row, RowBuffer, Scratch, Value};
use crate::schema::Schema;
use crate::task::Truth;
use crate::transformer::{Transformer, Zeros};

use super::bits::{numbered, write_bits};

const NAME: &str = "htm.ScalarEncoder";
/// Bits of all features.
const MOST_BITS: usize = 1 << 28;

pub const N_BITS: Parameter = Parameter::new(
    "n_bits",
    Kind::Integer { low: 2, high: 1 << 20 },
    DefaultValue::Integer(400),
    "number of bits of a feature",
);
pub const N_ACTIVE: Parameter = Parameter::new(
    "n_active",
    Kind::Integer { low: 1, high: 1 << 12 },
    DefaultValue::Integer(21),
    "number of active bits of a feature",
);

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Transformer,
    words: "Encodes numbers as bits, of which near numbers share some",
    merge: Merge::EXACT,
    parameters: &[
        Parameter::new(
            "limits",
            Kind::Limits,
            DefaultValue::Required,
            "range of all features, or of those that are encoded",
        ),
        N_BITS,
        N_ACTIVE,
        Parameter::new(
            "is_periodic",
            Kind::Boolean,
            DefaultValue::Boolean(false),
            "whether the upper limit is the lower one again, as for angles",
        ),
        Parameter::new(
            "outside",
            Kind::Choice(&["clamp", "refuse"]),
            DefaultValue::Text("clamp"),
            "treatment of numbers beyond the limits",
        ),
    ],
    build: |arguments| {
        let (n_bits, n_active) = (arguments.size("n_bits")?, arguments.size("n_active")?);
        if n_active >= n_bits {
            return Err(Fault::value(format!("{NAME}: n_active must be below n_bits, {n_bits}, got {n_active}")));
        }
        Ok(Built::Transformer(Box::new(ScalarEncoder {
            limits: Limits::new(arguments.value("limits")?),
            n_bits,
            n_active,
            is_periodic: arguments.boolean("is_periodic")?,
            refuses: arguments.text("outside")? == "refuse",
            names: Vec::new(),
            state: State::default(),
            before: State::default(),
        })))
    },
};

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct State {
    /// Number of learned values outside the limits.
    clamped: u64,
}

#[derive(Clone)]
struct ScalarEncoder {
    limits: Limits,
    n_bits: usize,
    n_active: usize,
    is_periodic: bool,
    refuses: bool,
    names: Vec<String>,
    state: State,
    before: State,
}

impl ScalarEncoder {
    /// The first active bit of a number in its block.
    fn start(&self, x: f64, low: f64, high: f64) -> usize {
        // Halves, because the difference of the largest numbers overflows.
        let fraction = ((0.5 * x - 0.5 * low) / (0.5 * high - 0.5 * low)).clamp(0.0, 1.0);
        match self.is_periodic {
            true => (fraction * self.n_bits as f64) as usize % self.n_bits,
            false => (fraction * (self.n_bits - self.n_active) as f64).round() as usize,
        }
    }

    /// Visit the numbers that have limits.
    fn each_number(&self, x: Row<'_>, scratch: &mut Scratch, mut visit: impl FnMut(usize, f64, f64, f64)) {
        let mut buffer = scratch.take_numbers();
        x.dense(&mut buffer).each(|slot, value| {
            if let (Value::Number(number), Some((low, high))) = (value, self.limits.of(slot as u32)) {
                visit(slot, number, low, high);
            }
        });
        scratch.give_numbers(buffer);
    }

    fn examine(&self, x: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        if x.width().saturating_mul(self.n_bits) > MOST_BITS {
            let most = MOST_BITS / self.n_bits;
            return Err(Fault::value(format!("{NAME}: supports up to {most} features, got {}", x.width())));
        }
        let mut checked = Ok(());
        if self.refuses {
            self.each_number(x, scratch, |slot, number, low, high| {
                if checked.is_ok() && !(low..=high).contains(&number) {
                    let name = self.names.get(slot).map_or("", String::as_str);
                    checked = Err(Fault::value(format!(
                        "{NAME}: feature {name} must be in [{}, {}], got {}",
                        Shown(low),
                        Shown(high),
                        Shown(number)
                    )));
                }
            });
        }
        checked
    }
}

impl Part for ScalarEncoder {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        self.state = unpack(NAME, bytes)?;
        self.before = self.state;
        Ok(())
    }

    fn abilities(&self) -> Abilities {
        Abilities { needs_names: true, checks_rows: true, ..Abilities::default() }
    }

    fn bind(&mut self, schema: &Schema) {
        self.limits.bind(schema);
        self.names = schema.names().map(|name| name.to_string()).collect();
    }

    fn check(&self, x: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        self.examine(x, scratch)
    }

    fn merge_state(&mut self, merger: &Merger<'_>) -> Result<()> {
        let theirs: State = unpack(NAME, merger.other.state)?;
        let base: State = merger.base.map(|base| unpack(NAME, base.state)).transpose()?.unwrap_or_default();
        self.state.clamped = self.state.clamped.saturating_add(theirs.clamped).saturating_sub(base.clamped);
        self.before = self.state;
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.names.iter().map(|name| 24 + name.capacity()).sum::<usize>()
    }

    fn inspect(&self, _schema: &Schema) -> serde_json::Value {
        json!({ "clamped": self.state.clamped })
    }
}

impl Transformer for ScalarEncoder {
    fn transform(&self, x: Row<'_>, out: &mut RowBuffer, scratch: &mut Scratch) {
        let mut bits = scratch.take_indices();
        let width = x.width().min(MOST_BITS / self.n_bits);
        self.each_number(x, scratch, |slot, number, low, high| {
            if slot < width {
                let (first, start) = (slot * self.n_bits, self.start(number, low, high));
                let end = start + self.n_active;
                // What wraps comes first, so that bits ascend.
                bits.extend((self.n_bits..end).map(|bit| (first + bit - self.n_bits) as u32));
                bits.extend((start..end.min(self.n_bits)).map(|bit| (first + bit) as u32));
            }
        });
        write_bits(&bits, width * self.n_bits, out);
        scratch.give_indices(bits);
    }

    fn learn(&mut self, x: Row<'_>, _y: Truth, _w: f64, scratch: &mut Scratch) -> Result<()> {
        self.before = self.state;
        self.examine(x, scratch)?;
        let mut clamped = 0;
        self.each_number(x, scratch, |_, number, low, high| clamped += u64::from(!(low..=high).contains(&number)));
        self.state.clamped = self.state.clamped.saturating_add(clamped);
        Ok(())
    }

    fn undo(&mut self) {
        self.state = self.before;
    }

    fn is_frozen(&self) -> bool {
        true
    }

    fn zeros(&self, _input: Zeros) -> Zeros {
        Zeros::OmittedInDicts
    }

    fn output(&self, input: &Schema) -> Schema {
        numbered(input.len().min(MOST_BITS / self.n_bits) * self.n_bits)
    }

    fn duplicate(&self) -> Box<dyn Transformer> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;

    fn built(parameters: serde_json::Value) -> Box<dyn Transformer> {
        let description = registry::resolve(&json!({ "name": NAME, "parameters": parameters })).unwrap();
        let Built::Transformer(part) = registry::build_resolved(&description).unwrap() else { panic!() };
        part
    }

    fn bits(part: &dyn Transformer, x: &[f64]) -> Vec<u32> {
        let mut out = RowBuffer::default();
        part.transform(Row::Plain(x), &mut out, &mut Scratch::default());
        let Row::Sparse(found) = out.row() else { panic!() };
        assert_eq!(found.width, 10 * x.len());
        found.indices.to_vec()
    }

    /// 10 bits of which 3 are active leave 7 steps: 0 starts at 0, 10 at 7, and 5 at round(3.5) = 4. The second feature
    /// has the bits 10 to 19; 99 is clamped to 10.
    #[test]
    fn worked_by_hand() {
        let part = built(json!({ "limits": [0.0, 10.0], "n_bits": 10, "n_active": 3 }));
        assert_eq!(bits(&*part, &[0.0]), [0, 1, 2]);
        assert_eq!(bits(&*part, &[5.0, 99.0]), [4, 5, 6, 17, 18, 19]);
    }

    /// 270° is three quarters of 10 bits: ⌊7.5⌋ = 7. 350° starts at ⌊9.72⌋ = 9 and wraps; 360° is 0°.
    #[test]
    fn periodic_numbers_wrap() {
        let part = built(json!({ "limits": [0.0, 360.0], "n_bits": 10, "n_active": 3, "is_periodic": true }));
        assert_eq!(bits(&*part, &[270.0]), [7, 8, 9]);
        assert_eq!(bits(&*part, &[350.0]), [0, 1, 9]);
        assert_eq!(bits(&*part, &[360.0]), bits(&*part, &[0.0]));
    }

    #[test]
    fn numbers_outside_are_counted_or_refused() {
        let mut scratch = Scratch::default();
        let mut part = built(json!({ "limits": [0.0, 10.0], "n_bits": 10, "n_active": 3 }));
        part.learn(Row::Plain(&[11.0, 5.0, -1e308]), Truth::None, 1.0, &mut scratch).unwrap();
        assert_eq!(part.inspect(&Schema::default()), json!({ "clamped": 2 }));
        part.undo();
        assert_eq!(part.inspect(&Schema::default()), json!({ "clamped": 0 }));
        let part = built(json!({ "limits": [0.0, 10.0], "n_bits": 10, "n_active": 3, "outside": "refuse" }));
        let fault = part.check(Row::Plain(&[11.0]), &mut scratch).unwrap_err();
        assert!(fault.message().contains("must be in [0, 10], got 11"), "{}", fault.message());
    }
}
