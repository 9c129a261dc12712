//! Random projections: rows of any number of features to a few columns that preserve distances.
//!
//! The output is y = x R, with a row of R for each feature. `GaussianRandomProjector` draws the entries from
//! N(0, 1/k), k the number of columns. `SparseRandomProjector` draws each as √(1/(density k)) times −1, 0 or 1 with
//! probabilities density/2, 1 − density and density/2 (Li, Hastie and Church, 2006, eq. 5; Achlioptas, 2003, for
//! density 1/3). In both, E‖y‖² = ‖x‖², and k of the order of log(n)/ε² preserves the distances of n points up to a
//! factor 1 ± ε (Johnson and Lindenstrauss, 1984).
//!
//! The row of a feature is a function of the seed and the name of the feature, so it depends neither on the order of
//! features nor on when they appear. A nominal value has a row of its own, of the name `name=value`. Rows of numbers
//! are cached up to `CACHED` entries; others are drawn again each time. There is no state.

use serde_json::json;

use crate::declaration::{Built, Declaration, Role};
use crate::fault::Result;
use crate::held::state::{pack, unpack};
use crate::merging::{Merge, Merger};
use crate::numeric::random::Random;
use crate::parameter::{Bounds, Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Part};
use crate::row::{finite, Row, RowBuffer, Scratch, Value};
use crate::schema::Schema;
use crate::transformer::Transformer;

use super::tokens::{hash_64, Tokens};

const GAUSSIAN_NAME: &str = "preprocessing.GaussianRandomProjector";
const SPARSE_NAME: &str = "preprocessing.SparseRandomProjector";
/// Entries of R in the cache: 8 MB of Gaussian ones.
const CACHED: usize = 1 << 20;

const N_COMPONENTS: Parameter = Parameter::new(
    "n_components",
    Kind::Integer { low: 1, high: 100_000 },
    DefaultValue::Integer(10),
    "number of output features",
);

const SEED: Parameter =
    Parameter::new("seed", Kind::Integer { low: 0, high: i64::MAX }, DefaultValue::Integer(1), "random seed");

pub static GAUSSIAN: Declaration = Declaration {
    name: GAUSSIAN_NAME,
    role: Role::Transformer,
    words: "Projects rows to a few columns by a matrix of Gaussian random numbers",
    merge: Merge::STATELESS,
    parameters: &[N_COMPONENTS, SEED],
    build: |arguments| {
        let (k, seed) = (arguments.size("n_components")?, arguments.integer("seed")? as u64);
        let matrix = Gaussian { scale: 1.0 / (k as f64).sqrt() };
        Ok(Built::Transformer(Box::new(Projection::new(GAUSSIAN_NAME, k, seed, matrix))))
    },
};

pub static SPARSE: Declaration = Declaration {
    name: SPARSE_NAME,
    role: Role::Transformer,
    words: "Projects rows to a few columns by a sparse matrix of random signs",
    merge: Merge::STATELESS,
    parameters: &[
        N_COMPONENTS,
        Parameter::new(
            "density",
            Kind::Float(Bounds::FRACTION),
            DefaultValue::Float(0.1),
            "fraction of entries of the projection matrix that are not 0",
        ),
        SEED,
    ],
    build: |arguments| {
        let (k, seed) = (arguments.size("n_components")?, arguments.integer("seed")? as u64);
        let density = arguments.float("density")?;
        let matrix = Signs { density, scale: (1.0 / (density * k as f64)).sqrt() };
        Ok(Built::Transformer(Box::new(Projection::new(SPARSE_NAME, k, seed, matrix))))
    },
};

/// How rows of the matrix are drawn and used.
trait Matrix: Clone + Send + Sync + 'static {
    type Entry: Copy + Send + Sync + 'static;
    /// Append a row of `k` entries, or those of them that are not 0.
    fn draw(&self, k: usize, random: &mut Random, row: &mut Vec<Self::Entry>);
    fn add(x: f64, row: &[Self::Entry], out: &mut [f64]);
    /// `add` of a row that is drawn at the same time.
    fn add_drawn(&self, x: f64, random: &mut Random, out: &mut [f64]);
    /// The factor of the sum.
    fn factor(&self) -> f64;
}

#[derive(Clone)]
struct Gaussian {
    scale: f64,
}

impl Matrix for Gaussian {
    type Entry = f64;

    fn draw(&self, k: usize, random: &mut Random, row: &mut Vec<f64>) {
        row.extend((0..k).map(|_| random.gaussian() * self.scale));
    }

    #[inline(always)]
    fn add(x: f64, row: &[f64], out: &mut [f64]) {
        out.iter_mut().zip(row).for_each(|(out, entry)| *out += x * entry);
    }

    fn add_drawn(&self, x: f64, random: &mut Random, out: &mut [f64]) {
        out.iter_mut().for_each(|out| *out += x * (random.gaussian() * self.scale));
    }

    fn factor(&self) -> f64 {
        1.0
    }
}

/// An entry is the number of a column, from 1, with the sign of the entry.
#[derive(Clone)]
struct Signs {
    density: f64,
    scale: f64,
}

impl Signs {
    /// One number decides: below half the density +, below the density −.
    fn sign(&self, random: &mut Random) -> Option<bool> {
        let drawn = random.unit();
        (drawn < self.density).then_some(drawn < 0.5 * self.density)
    }
}

impl Matrix for Signs {
    type Entry = i32;

    fn draw(&self, k: usize, random: &mut Random, row: &mut Vec<i32>) {
        for column in 1..=k as i32 {
            if let Some(positive) = self.sign(random) {
                row.push(if positive { column } else { -column });
            }
        }
    }

    #[inline(always)]
    fn add(x: f64, row: &[i32], out: &mut [f64]) {
        for &entry in row {
            out[entry.unsigned_abs() as usize - 1] += if entry < 0 { -x } else { x };
        }
    }

    fn add_drawn(&self, x: f64, random: &mut Random, out: &mut [f64]) {
        for out in out {
            if let Some(positive) = self.sign(random) {
                *out += if positive { x } else { -x };
            }
        }
    }

    fn factor(&self) -> f64 {
        self.scale
    }
}

#[derive(Clone)]
struct Projection<M: Matrix> {
    name: &'static str,
    k: usize,
    seed: u64,
    matrix: M,
    tokens: Tokens<u64>,
    /// The rows of the first features: row i from `starts[i]` to `starts[i + 1]`.
    rows: Vec<M::Entry>,
    starts: Vec<usize>,
}

#[derive(serde::Serialize, serde::Deserialize)]
struct State {}

impl<M: Matrix> Projection<M> {
    fn new(name: &'static str, k: usize, seed: u64, matrix: M) -> Self {
        Projection { name, k, seed, matrix, tokens: Tokens::default(), rows: Vec::new(), starts: vec![0] }
    }

    #[inline]
    fn cached(&self, slot: usize) -> Option<&[M::Entry]> {
        Some(&self.rows[*self.starts.get(slot)?..*self.starts.get(slot + 1)?])
    }
}

impl<M: Matrix> Part for Projection<M> {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&State {})
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        unpack::<State>(self.name, bytes)?;
        *self = Projection::new(self.name, self.k, self.seed, self.matrix.clone());
        Ok(())
    }

    fn savepoint(&mut self) -> bool {
        true
    }

    fn memory(&self) -> usize {
        let rows = self.rows.capacity() * std::mem::size_of::<M::Entry>() + self.starts.capacity() * 8;
        std::mem::size_of::<Self>() + self.tokens.memory() + rows
    }

    fn abilities(&self) -> Abilities {
        Abilities { needs_names: true, missing_is_zero: true, ..Abilities::default() }
    }

    fn bind(&mut self, schema: &Schema) {
        let same = self.tokens.bind(schema, hash_64);
        self.starts.truncate(same + 1);
        self.rows.truncate(self.starts[self.starts.len() - 1]);
        for slot in self.starts.len() - 1..schema.len().min(CACHED / self.k) {
            let Some(&token) = self.tokens.number(slot) else { return };
            self.matrix.draw(self.k, &mut Random::new(self.seed, token), &mut self.rows);
            self.starts.push(self.rows.len());
        }
    }

    fn merge_state(&mut self, _merger: &Merger<'_>) -> Result<()> {
        Ok(())
    }

    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        json!({ "features": schema.names().map(|name| name.text()).collect::<Vec<_>>() })
    }
}

impl<M: Matrix> Transformer for Projection<M> {
    fn transform(&self, x: Row<'_>, out: &mut RowBuffer, _: &mut Scratch) {
        let out = out.plain(self.k);
        out.fill(0.0);
        match x {
            Row::Plain(values) if values.len() < self.starts.len() => {
                for (&x, ends) in values.iter().zip(self.starts.windows(2)) {
                    M::add(x, &self.rows[ends[0]..ends[1]], out);
                }
            }
            _ => x.each(|slot, value| {
                let (number, row, token) = match value {
                    Value::Number(number) => (number, self.cached(slot), self.tokens.number(slot)),
                    Value::Nominal(code) => (1.0, None, code.and_then(|code| self.tokens.nominal(slot, code))),
                };
                match (row, token) {
                    (Some(row), _) => M::add(number, row, out),
                    (None, Some(&token)) => {
                        self.matrix.add_drawn(number, &mut Random::new(self.seed, token), out);
                    }
                    (None, None) => {}
                }
            }),
        }
        let factor = self.matrix.factor();
        out.iter_mut().for_each(|out| *out = finite(*out * factor));
    }

    fn is_stateless(&self) -> bool {
        true
    }

    fn output(&self, _input: &Schema) -> Schema {
        let mut schema = Schema::default();
        schema.widen(self.k);
        schema.mark();
        schema
    }

    fn duplicate(&self) -> Box<dyn Transformer> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry;
    use crate::schema::FeatureKind::{Nominal, Number};

    fn built(name: &str) -> Box<dyn Transformer> {
        let parameters = json!({ "n_components": 3, "seed": 7 });
        let description = registry::resolve(&json!({ "name": name, "parameters": parameters })).unwrap();
        let Built::Transformer(part) = registry::build_resolved(&description).unwrap() else { panic!() };
        part
    }

    fn transformed(part: &dyn Transformer, x: Row<'_>) -> Vec<f64> {
        let mut out = RowBuffer::default();
        part.transform(x, &mut out, &mut Scratch::default());
        let Row::Plain(found) = out.row() else { panic!() };
        found.to_vec()
    }

    #[test]
    fn a_row_is_a_sum_of_drawn_rows() {
        let mut schema = Schema::default();
        schema.push(&"a".into(), Number);
        let colour = schema.push(&"colour".into(), Nominal);
        schema.intern_value(colour, "red");
        let mut part = built(GAUSSIAN_NAME);
        part.bind(&schema);
        // 2 R(a) + R(colour=red), each row three draws of the seed and the name, over √3.
        let mut draws = [Random::new(7, hash_64("a")), Random::new(7, hash_64("colour=red"))];
        let scale = 1.0 / 3f64.sqrt();
        let wanted = [0; 3].map(|_| 2.0 * (draws[0].gaussian() * scale) + draws[1].gaussian() * scale);
        assert_eq!(transformed(&*part, Row::Mixed(&[2.0, 0.0], &[Number, Nominal])), wanted);
        // The same features in another order.
        let mut turned = Schema::default();
        turned.push(&"b".into(), Number);
        turned.push(&"a".into(), Number);
        part.bind(&turned);
        let mut draw = Random::new(7, hash_64("a"));
        assert_eq!(transformed(&*part, Row::Plain(&[0.0, 1.0])), [0; 3].map(|_| draw.gaussian() * scale));
    }

    #[test]
    fn sparse_entries_by_hand() {
        let mut row = Vec::new();
        Signs { density: 1.0, scale: 1.0 }.draw(3, &mut Random::new(7, 1), &mut row);
        let mut draws = Random::new(7, 1);
        let wanted = [1, 2, 3].map(|column| if draws.unit() < 0.5 { column } else { -column });
        assert_eq!(row, wanted);
        // 2 times the row (+, −, 0) and 3 times (0, −, +): (2, −5, 3).
        let mut out = [0.0; 3];
        Signs::add(2.0, &[1, -2], &mut out);
        Signs::add(3.0, &[-2, 3], &mut out);
        assert_eq!(out, [2.0, -5.0, 3.0]);
    }
}
