//! Products of features up to a degree.
//!
//! The output has each feature, and each product of two or more of them with or without repetition; a product with a
//! missing factor is missing. Nominal features pass through and enter no product. Output features are in the order of
//! their degree, then of their factors, for all features of the first learned row. A feature that is learned later
//! adds its products at the end, so that earlier ones keep their place: features that arrived together are a
//! *generation*. Each product is that of an earlier output with one feature, in one multiplication.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::merging::{Merge, Merger};
use crate::parameter::{Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Part};
use crate::row::{bounded, Row, RowBuffer, Scratch};
use crate::schema::{FeatureKind, Name, Schema};
use crate::task::Truth;
use crate::transformer::Transformer;

const NAME: &str = "feature_extraction.PolynomialExtender";
/// The largest number of output features.
const MOST: usize = 1 << 20;
/// A feature that was not learned.
const NONE: u32 = u32::MAX;

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Transformer,
    words: "Products of features up to a degree",
    merge: Merge::STATELESS,
    parameters: &[
        Parameter::new(
            "degree",
            Kind::Integer { low: 1, high: 16 },
            DefaultValue::Integer(2),
            "largest number of factors of a product",
        ),
        Parameter::new(
            "interaction_only",
            Kind::Boolean,
            DefaultValue::Boolean(false),
            "whether a product has each feature at most once",
        ),
        Parameter::new(
            "include_bias",
            Kind::Boolean,
            DefaultValue::Boolean(false),
            "whether to add a feature that is always 1",
        ),
        Parameter::new("bias_name", Kind::Name, DefaultValue::Text("bias"), "name of that feature"),
    ],
    build: |arguments| {
        let bias_name = match arguments.value("bias_name")?.as_str() {
            Some(text) => Name::from(text),
            None => Name::from(arguments.integer("bias_name")?),
        };
        Ok(Built::Transformer(Box::new(PolynomialExtender {
            shape: Shape {
                degree: arguments.size("degree")?,
                interaction_only: arguments.boolean("interaction_only")?,
                include_bias: arguments.boolean("include_bias")?,
            },
            bias_name,
            state: State::default(),
            indices: Vec::new(),
            plan: Plan::default(),
            undo: 0,
        })))
    },
};

#[derive(Clone, Copy)]
struct Shape {
    degree: usize,
    interaction_only: bool,
    include_bias: bool,
}

#[derive(Clone)]
struct PolynomialExtender {
    shape: Shape,
    bias_name: Name,
    state: State,
    /// By slot: the index among the learned features. Derived from the state, as is the plan.
    indices: Vec<u32>,
    plan: Plan,
    /// Number of generations before the last `learn`.
    undo: usize,
}

/// The learned features.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct State {
    /// Slots in the order of arrival.
    slots: Vec<u32>,
    nominal: Vec<bool>,
    /// The number of slots after each generation.
    generations: Vec<u32>,
}

/// One output.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Output {
    Bias,
    /// A feature of the input, by its index among the learned ones.
    Feature(u32),
    /// Output times feature.
    Product(u32, u32),
}

#[derive(Clone, Debug, Default)]
struct Plan {
    outputs: Vec<Output>,
    /// The outputs of numbers by their number of factors, with the index of the last factor.
    by_degree: Vec<Vec<(u32, u32)>>,
    /// The number of outputs, and of those of each degree, after each generation.
    ends: Vec<Vec<usize>>,
}

impl Plan {
    /// Add the features from `from` on as a generation.
    fn extend(&mut self, shape: Shape, nominal: &[bool], from: usize) {
        self.by_degree.resize(shape.degree, Vec::new());
        for (index, &is_nominal) in nominal.iter().enumerate().skip(from) {
            if !is_nominal {
                self.by_degree[0].push((self.outputs.len() as u32, index as u32));
            }
            self.outputs.push(Output::Feature(index as u32));
        }
        for degree in 1..shape.degree {
            let (shorter, longer) = self.by_degree.split_at_mut(degree);
            for &(output, last) in &shorter[degree - 1] {
                let first = from.max(last as usize + usize::from(shape.interaction_only));
                for (index, &is_nominal) in nominal.iter().enumerate().skip(first) {
                    if !is_nominal {
                        longer[0].push((self.outputs.len() as u32, index as u32));
                        self.outputs.push(Output::Product(output, index as u32));
                    }
                }
            }
        }
        if shape.include_bias && self.ends.is_empty() {
            self.outputs.push(Output::Bias);
        }
        let lengths = self.by_degree.iter().map(Vec::len);
        self.ends.push(std::iter::once(self.outputs.len()).chain(lengths).collect());
    }

    /// The features of an output, each as often as it is a factor.
    fn factors(&self, mut output: Output, factors: &mut Vec<u32>) {
        factors.clear();
        while let Output::Product(left, index) = output {
            factors.push(index);
            output = self.outputs[left as usize];
        }
        if let Output::Feature(index) = output {
            factors.push(index);
        }
    }

    /// Return to the first generations.
    fn truncate(&mut self, generations: usize) {
        self.ends.truncate(generations);
        let Some((&outputs, lengths)) = self.ends.last().and_then(|ends| ends.split_first()) else {
            return *self = Plan::default();
        };
        self.outputs.truncate(outputs);
        self.by_degree.iter_mut().zip(lengths).for_each(|(each, &length)| each.truncate(length));
    }

    fn memory(&self) -> usize {
        let degrees: usize = self.by_degree.iter().map(|each| each.capacity() * 8).sum();
        self.outputs.capacity() * 12
            + degrees
            + self.ends.iter().map(|ends| 24 + ends.capacity() * 8).sum::<usize>()
    }
}

/// The number of outputs for so many numbers, or one more than `MOST` if there are more.
fn count(shape: Shape, numbers: usize, others: usize) -> usize {
    // C(n, d) without repetition, C(n + d − 1, d) with it.
    let mut total = others + usize::from(shape.include_bias);
    for degree in 1..=shape.degree {
        let mut products = 1u128;
        for factor in 0..degree {
            let choices = match shape.interaction_only {
                true => numbers.saturating_sub(factor),
                false => numbers + factor,
            };
            products = products * choices as u128 / (factor as u128 + 1);
            if products > MOST as u128 {
                return MOST + 1;
            }
        }
        total += products as usize;
    }
    total.min(MOST + 1)
}

fn kind_in(x: Row<'_>) -> impl Fn(usize) -> FeatureKind + Copy + '_ {
    move |slot| match x {
        Row::Mixed(_, kinds) => kinds[slot],
        Row::Plain(_) | Row::Sparse(_) => FeatureKind::Number,
    }
}

impl PolynomialExtender {
    fn is_fresh(&self, slot: usize, kind: FeatureKind) -> bool {
        kind != FeatureKind::Unknown && self.indices.get(slot).is_none_or(|&index| index == NONE)
    }

    /// Whether a row of this width has features without a place in the output.
    #[inline]
    fn has_fresh(&self, width: usize, kind: impl Fn(usize) -> FeatureKind) -> bool {
        self.state.generations.is_empty() || (0..width).any(|slot| self.is_fresh(slot, kind(slot)))
    }

    fn check_size(&self, width: usize, kind: impl Fn(usize) -> FeatureKind) -> Result<()> {
        let fresh = (0..width).filter(|&slot| self.is_fresh(slot, kind(slot)));
        let (nominals, numbers): (Vec<bool>, Vec<bool>) = (self.state.nominal.iter().copied())
            .chain(fresh.map(|slot| kind(slot) == FeatureKind::Nominal))
            .partition(|&nominal| nominal);
        if count(self.shape, numbers.len(), nominals.len()) <= MOST {
            return Ok(());
        }
        let (numbers, degree) = (numbers.len(), self.shape.degree);
        Err(Fault::value(format!(
            "{NAME}: supports up to {MOST} output features, {numbers} features of degree {degree} have more"
        )))
    }

    /// Give the fresh features of a row places in the output: a generation.
    fn grow(&mut self, width: usize, kind: impl Fn(usize) -> FeatureKind) {
        let from = self.state.slots.len();
        for slot in 0..width {
            if self.is_fresh(slot, kind(slot)) {
                self.state.slots.push(slot as u32);
                self.state.nominal.push(kind(slot) == FeatureKind::Nominal);
            }
        }
        self.state.generations.push(self.state.slots.len() as u32);
        self.index(from);
        self.plan.extend(self.shape, &self.state.nominal, from);
    }

    /// Write down the indices of the features from `from` on.
    fn index(&mut self, from: usize) {
        for (index, &slot) in self.state.slots.iter().enumerate().skip(from) {
            if slot as usize >= self.indices.len() {
                self.indices.resize(slot as usize + 1, NONE);
            }
            self.indices[slot as usize] = index as u32;
        }
    }

    /// Return to the first generations.
    fn truncate(&mut self, generations: usize) {
        let State { slots, nominal, generations: ends } = &mut self.state;
        ends.truncate(generations);
        let length = ends.last().map_or(0, |&end| end as usize);
        for slot in slots.drain(length..) {
            self.indices[slot as usize] = NONE;
        }
        nominal.truncate(length);
        self.plan.truncate(generations);
    }

    fn transform_known(&self, x: Row<'_>, out: &mut RowBuffer) {
        let (Row::Plain(values) | Row::Mixed(values, _)) = x else { return };
        let slots = &self.state.slots;
        let plain = matches!(x, Row::Plain(_)) && slots.iter().all(|&slot| (slot as usize) < values.len());
        if plain {
            let out = out.plain(self.plan.outputs.len());
            for (place, &output) in self.plan.outputs.iter().enumerate() {
                out[place] = match output {
                    Output::Bias => 1.0,
                    Output::Feature(index) => values[slots[index as usize] as usize],
                    Output::Product(left, index) => {
                        bounded(out[left as usize] * values[slots[index as usize] as usize])
                    }
                };
            }
            return;
        }
        let value = |index: u32| values.get(slots[index as usize] as usize).copied().unwrap_or(f64::NAN);
        let (numbers, kinds) = out.mixed(self.plan.outputs.len());
        kinds.fill(FeatureKind::Number);
        for (place, &output) in self.plan.outputs.iter().enumerate() {
            numbers[place] = match output {
                Output::Bias => 1.0,
                Output::Feature(index) => {
                    if self.state.nominal[index as usize] {
                        kinds[place] = FeatureKind::Nominal;
                    }
                    value(index)
                }
                Output::Product(left, index) => {
                    let product = numbers[left as usize] * value(index);
                    if product.is_nan() {
                        f64::NAN
                    } else {
                        bounded(product)
                    }
                }
            };
        }
    }
}

impl Part for PolynomialExtender {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        let length = state.slots.len();
        require(NAME, state.nominal.len() == length, "kinds are missing")?;
        let ends = &state.generations;
        let ascending = ends.is_sorted() && ends.last().map_or(0, |&end| end as usize) == length;
        // Only the first generation may be empty.
        let distinct = ends.windows(2).all(|pair| pair[0] < pair[1]);
        require(NAME, ascending && distinct, "generations are out of order")?;
        let mut slots = state.slots.clone();
        slots.sort_unstable();
        // A schema with so many features could not have been saved.
        let bounded = slots.last().is_none_or(|&slot| slot < 1 << 30);
        require(NAME, slots.windows(2).all(|pair| pair[0] < pair[1]) && bounded, "a slot is out of place")?;
        let nominal = state.nominal.iter().filter(|&&nominal| nominal).count();
        require(NAME, count(self.shape, length - nominal, nominal) <= MOST, "too many features")?;
        (self.state, self.plan, self.indices) = (state, Plan::default(), Vec::new());
        self.index(0);
        let mut from = 0;
        for &end in &self.state.generations {
            self.plan.extend(self.shape, &self.state.nominal[..end as usize], from);
            from = end as usize;
        }
        self.undo = self.state.generations.len();
        Ok(())
    }

    fn memory(&self) -> usize {
        let State { slots, nominal, generations } = &self.state;
        let state = slots.capacity() * 4 + nominal.capacity() + generations.capacity() * 4;
        std::mem::size_of::<Self>() + state + self.indices.capacity() * 4 + self.plan.memory()
    }

    fn abilities(&self) -> Abilities {
        Abilities { checks_rows: true, ..Abilities::default() }
    }

    fn check(&self, x: Row<'_>, _: &mut Scratch) -> Result<()> {
        match self.has_fresh(x.width(), kind_in(x)) {
            true => self.check_size(x.width(), kind_in(x)),
            false => Ok(()),
        }
    }

    /// The products depend on names and kinds only: merging adds those of new features.
    fn merge_state(&mut self, merger: &Merger<'_>) -> Result<()> {
        let ours = merger.ours;
        let kind = |slot: usize| ours.kinds()[slot];
        if self.has_fresh(ours.len(), kind) {
            self.check_size(ours.len(), kind)?;
            self.grow(ours.len(), kind);
        }
        self.undo = self.state.generations.len();
        Ok(())
    }

    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        let names: Vec<String> = self.output(schema).names().map(|name| name.text()).collect();
        json!({ "output": names })
    }
}

impl Transformer for PolynomialExtender {
    fn transform(&self, x: Row<'_>, out: &mut RowBuffer, scratch: &mut Scratch) {
        let mut dense = scratch.take_numbers();
        let x = x.dense(&mut dense);
        if self.has_fresh(x.width(), kind_in(x)) {
            let mut copy = self.clone();
            copy.grow(x.width(), kind_in(x));
            copy.transform_known(x, out);
        } else {
            self.transform_known(x, out);
        }
        scratch.give_numbers(dense);
    }

    fn learn(&mut self, x: Row<'_>, _y: Truth, _w: f64, _: &mut Scratch) -> Result<()> {
        self.undo = self.state.generations.len();
        if self.has_fresh(x.width(), kind_in(x)) {
            self.check_size(x.width(), kind_in(x))?;
            self.grow(x.width(), kind_in(x));
        }
        Ok(())
    }

    fn undo(&mut self) {
        self.truncate(self.undo);
    }

    fn is_stateless(&self) -> bool {
        true
    }

    fn output(&self, input: &Schema) -> Schema {
        let kind = |slot: usize| input.kinds()[slot];
        if self.has_fresh(input.len(), kind) && self.check_size(input.len(), kind).is_ok() {
            let mut copy = self.clone();
            copy.grow(input.len(), kind);
            return copy.output(input);
        }
        let name = |&slot: &u32| match slot as usize {
            slot if slot < input.len() => input.name(slot),
            slot => Name::from(format!("feature_{slot}").as_str()),
        };
        let names: Vec<Name> = self.state.slots.iter().map(name).collect();
        let texts: Vec<String> = names.iter().map(Name::text).collect();
        let mut schema = Schema::default();
        let mut factors: Vec<u32> = Vec::new();
        for &output in &self.plan.outputs {
            match output {
                Output::Bias => {
                    schema.push_unique(self.bias_name.clone(), FeatureKind::Number);
                }
                Output::Feature(index) => {
                    schema.push_from(input, self.state.slots[index as usize] as usize, None);
                }
                Output::Product(..) => {
                    self.plan.factors(output, &mut factors);
                    factors.sort_unstable_by(|&a, &b| names[a as usize].cmp(&names[b as usize]));
                    let mut text = String::new();
                    for &factor in &factors {
                        if !text.is_empty() {
                            text.push('*');
                        }
                        text.push_str(&texts[factor as usize]);
                    }
                    schema.push_unique(Name::Text(text.into()), FeatureKind::Number);
                }
            }
        }
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
    use FeatureKind::{Nominal, Number};

    fn built(parameters: serde_json::Value) -> Box<dyn Transformer> {
        let description = registry::resolve(&json!({ "name": NAME, "parameters": parameters })).unwrap();
        let Built::Transformer(part) = registry::build_resolved(&description).unwrap() else { panic!() };
        part
    }

    fn names(part: &dyn Transformer, schema: &Schema) -> Vec<String> {
        part.output(schema).names().map(|name| name.text()).collect()
    }

    #[test]
    fn products_keep_their_place() {
        let mut part = built(json!({ "include_bias": true }));
        let mut schema = Schema::default();
        schema.push(&"y".into(), Number);
        schema.push(&"x".into(), Number);
        let mut scratch = Scratch::default();
        part.learn(Row::Plain(&[2.0, 3.0]), Truth::None, 1.0, &mut scratch).unwrap();
        assert_eq!(names(&*part, &schema), ["y", "x", "y*y", "x*y", "x*x", "bias"]);
        let mut out = RowBuffer::default();
        part.transform(Row::Plain(&[2.0, 3.0]), &mut out, &mut scratch);
        assert!(matches!(out.row(), Row::Plain([2.0, 3.0, 4.0, 6.0, 9.0, 1.0])));
        let before = part.save().unwrap();
        schema.push(&"colour".into(), Nominal);
        schema.push(&"a".into(), Number);
        let kinds = [Number, Number, Nominal, Number];
        part.learn(Row::Mixed(&[2.0, 3.0, 0.0, 5.0], &kinds), Truth::None, 1.0, &mut scratch).unwrap();
        let later = ["y", "x", "y*y", "x*y", "x*x", "bias", "colour", "a", "a*y", "a*x", "a*a"];
        assert_eq!(names(&*part, &schema), later);
        // 2 a = 10, 3 a is missing with x, a² = 25.
        part.transform(Row::Mixed(&[2.0, f64::NAN, 0.0, 5.0], &kinds), &mut out, &mut scratch);
        let Row::Mixed(found, kinds) = out.row() else { panic!() };
        assert_eq!((found[0], found[2], found[8], found[10], kinds[6]), (2.0, 4.0, 10.0, 25.0, Nominal));
        assert!([1, 3, 4, 9].iter().all(|&place: &usize| found[place].is_nan()));
        let after = part.save().unwrap();
        let mut loaded = built(json!({ "include_bias": true }));
        loaded.load(&after).unwrap();
        assert_eq!(names(&*loaded, &schema), later);
        part.undo();
        assert_eq!(part.save().unwrap(), before);
    }

    #[test]
    fn counts_of_outputs() {
        // Three features: degree 2 with squares 3 + 6, interactions of degree 3 give 3 + 3 + 1.
        let shape = |degree, interaction_only| Shape { degree, interaction_only, include_bias: false };
        assert_eq!((count(shape(2, false), 3, 0), count(shape(3, true), 3, 2)), (9, 9));
        assert_eq!(count(shape(16, false), 1000, 0), MOST + 1);
        let mut part = built(json!({ "degree": 3 }));
        let wide = vec![1.0; 400];
        let before = part.save().unwrap();
        assert!(part.learn(Row::Plain(&wide), Truth::None, 1.0, &mut Scratch::default()).is_err());
        assert_eq!(part.save().unwrap(), before);
        assert!(part.check(Row::Plain(&wide), &mut Scratch::default()).is_err());
    }
}
