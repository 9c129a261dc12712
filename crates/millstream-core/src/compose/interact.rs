//! Features and products of groups of features, hashed into a fixed number of columns.
//!
//! A group is a feature by name, all whose names match a pattern, or all of a kind. A number has its value, a nominal value
//! counts 1 under the name `name=value`; zeros and missing values add nothing. Columns are those of Vowpal Wabbit for a
//! line with the same names and no namespace: murmur3 of the name, and for a product Fowler, Noll and Vo's hash of the
//! columns, h ← 16777619 h ⊕ c. Products are made of the features that a row has, so their number may be far above that of
//! the columns. There is no state.

use serde_json::json;

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, unpack};
use crate::interactions::{combinations, PRIME};
use crate::merging::{Merge, Merger};
use crate::parameter::{Arguments, Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Part};
use crate::preprocessing::feature_hasher::settle;
use crate::preprocessing::{ColumnNames, Tokens, NAMES};
use crate::row::{Row, RowBuffer, Scratch, Value};
use crate::schema::{FeatureKind, Schema};
use crate::task::Truth;
use crate::text::hash_name;
use crate::transformer::{Transformer, Zeros};

use super::selection::fits;

const NAME: &str = "compose.Interact";
/// Between the groups of a product.
const TIMES: &str = " × ";
/// The most groups of a product.
const MOST_FACTORS: usize = 6;
/// Before the word of a kind.
const KIND: &str = "kind:";

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Transformer,
    words: "Hashes features and products of groups of them into a fixed number of columns",
    merge: Merge::STATELESS,
    parameters: &[
        Parameter::new("pairs", Kind::Names, DefaultValue::Required, "products of groups of features"),
        Parameter::new(
            "bits",
            Kind::Integer { low: 1, high: 28 },
            DefaultValue::Integer(18),
            "base-2 logarithm of the number of columns",
        ),
        Parameter::new(
            "linear",
            Kind::Boolean,
            DefaultValue::Boolean(true),
            "whether to keep the features themselves",
        ),
        Parameter::new(
            "max_products",
            Kind::Integer { low: 1, high: 1 << 32 },
            DefaultValue::Integer(1 << 20),
            "largest number of products of a row",
        ),
        NAMES,
    ],
    build,
};

fn build(arguments: &Arguments<'_>) -> Result<Built> {
    let mut groups: Vec<Group> = Vec::new();
    let mut products = Vec::new();
    for pair in arguments.names("pairs")? {
        let text = pair.text();
        let factors: Vec<&str> = text.split(TIMES).collect();
        if !(2..=MOST_FACTORS).contains(&factors.len()) || factors.iter().any(|factor| factor.is_empty()) {
            let must = format!("a product must have two to {MOST_FACTORS} groups");
            return Err(Fault::value(format!("{NAME}: {must}, got '{text}'")));
        }
        let mut product = Vec::new();
        for factor in factors {
            let group = Group::new(factor)?;
            let known = groups.iter().position(|known| known.text == group.text);
            product.push(known.unwrap_or_else(|| {
                groups.push(group);
                groups.len() - 1
            }));
        }
        // Equal groups are adjacent, so that each product of their features occurs once.
        let first = product.clone();
        product.sort_by_key(|group| first.iter().position(|one| one == group));
        let sorted = |product: &[usize]| {
            let mut groups = product.to_vec();
            groups.sort_unstable();
            groups
        };
        if !products.iter().any(|known: &Vec<usize>| sorted(known) == sorted(&product)) {
            products.push(product);
        }
    }
    if products.is_empty() {
        return Err(Fault::value(format!("{NAME}: pairs must not be empty")));
    }
    Ok(Built::Transformer(Box::new(Interact {
        groups,
        products,
        mask: ((1u64 << arguments.size("bits")?) - 1) as u32,
        linear: arguments.boolean("linear")?,
        most: arguments.integer("max_products")? as u64,
        names: ColumnNames::new(arguments.size("names")?),
        tokens: Tokens::default(),
        member: Vec::new(),
        absent: None,
    })))
}

#[derive(Clone, Debug)]
enum Match {
    Name,
    Pattern(Vec<char>),
    Kind(FeatureKind),
}

#[derive(Clone, Debug)]
struct Group {
    text: String,
    matches: Match,
}

impl Group {
    fn new(text: &str) -> Result<Self> {
        let matches = match text.strip_prefix(KIND) {
            Some("number") => Match::Kind(FeatureKind::Number),
            Some("nominal") => Match::Kind(FeatureKind::Nominal),
            Some(kind) => {
                return Err(Fault::value(format!("{NAME}: a kind must be number or nominal, got '{kind}'")))
            }
            None if text.contains(['*', '?']) => Match::Pattern(text.chars().collect()),
            None => Match::Name,
        };
        Ok(Group { text: text.into(), matches })
    }

    /// Whether it has a feature of this name; None if that depends on the kind.
    fn has(&self, name: &str) -> Option<bool> {
        match &self.matches {
            Match::Name => Some(self.text == name),
            Match::Pattern(pattern) => Some(fits(pattern, name)),
            Match::Kind(_) => None,
        }
    }
}

#[derive(Clone)]
struct Interact {
    groups: Vec<Group>,
    /// Indices of groups.
    products: Vec<Vec<usize>>,
    mask: u32,
    linear: bool,
    most: u64,
    /// The column of each name and nominal value, before it is cut.
    tokens: Tokens<u32>,
    /// Of each group: whether it has the feature in a slot; None if that depends on the kind.
    member: Vec<Vec<Option<bool>>>,
    /// Why the schema does not suit the groups.
    absent: Option<String>,
    names: ColumnNames,
}

#[derive(serde::Serialize, serde::Deserialize)]
struct State {}

/// The features of a row that are not 0: slots, columns and values.
struct Features {
    slots: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl Interact {
    fn features(&self, x: Row<'_>, scratch: &mut Scratch) -> Features {
        let mut features = Features {
            slots: scratch.take_indices(),
            columns: scratch.take_indices(),
            values: scratch.take_numbers(),
        };
        x.each(|slot, value| {
            let found = match value {
                Value::Number(0.0) | Value::Nominal(None) => None,
                Value::Number(number) => self.tokens.number(slot).map(|&column| (column, number)),
                Value::Nominal(Some(code)) => self.tokens.nominal(slot, code).map(|&column| (column, 1.0)),
            };
            if let Some((column, value)) = found {
                features.slots.push(slot as u32);
                features.columns.push(column);
                features.values.push(value);
            }
        });
        features
    }

    fn has(&self, group: usize, slot: u32, x: Row<'_>) -> bool {
        match (self.member.get(group).and_then(|member| member.get(slot as usize)), &self.groups[group].matches) {
            (Some(&Some(has)), _) => has,
            (_, Match::Kind(kind)) => x.kind(slot as usize) == *kind,
            _ => false,
        }
    }

    /// Refuse a row with too many products. Features of two groups of a product are counted twice.
    fn check_count(&self, x: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        let features = self.features(x, scratch);
        let size = |group: usize| features.slots.iter().filter(|&&slot| self.has(group, slot, x)).count() as u64;
        let of = |product: &Vec<usize>| {
            let runs = product.chunk_by(|one, other| one == other);
            runs.map(|run| combinations(size(run[0]), run.len())).fold(1, u64::saturating_mul)
        };
        let count = self.products.iter().map(of).fold(0, u64::saturating_add);
        features.release(scratch);
        if count <= self.most {
            return Ok(());
        }
        Err(Fault::value(format!(
            "{NAME}: a row may have up to {} products, got {count}: name fewer features, or raise max_products",
            self.most
        )))
    }
}

impl Features {
    fn release(self, scratch: &mut Scratch) {
        scratch.give_indices(self.slots);
        scratch.give_indices(self.columns);
        scratch.give_numbers(self.values);
    }
}

/// Makes the products of one row.
struct Products<'a> {
    interact: &'a Interact,
    x: Row<'a>,
    features: &'a Features,
    /// The groups of a product, and the features chosen for them so far.
    groups: &'a [usize],
    chosen: [u32; MOST_FACTORS],
}

impl Products<'_> {
    /// Visit the column, the value and the slots of each product, of which `count` factors are chosen.
    fn each(&mut self, count: usize, begun: (u32, f64), visit: &mut dyn FnMut(u32, f64, &[u32])) {
        let Some(&group) = self.groups.get(count) else {
            if !self.came_before(&mut [false; MOST_FACTORS], 0, false) {
                visit(begun.0, begun.1, &self.chosen[..count]);
            }
            return;
        };
        // The features of one group are combined in their order, with repetition.
        let least = if count > 0 && self.groups[count - 1] == group { self.chosen[count - 1] } else { 0 };
        for place in 0..self.features.slots.len() {
            let slot = self.features.slots[place];
            if slot < least || !self.interact.has(group, slot, self.x) {
                continue;
            }
            let (column, value) = (self.features.columns[place], self.features.values[place]);
            let next = match count {
                0 => (column, value),
                _ => (PRIME.wrapping_mul(begun.0) ^ column, begun.1 * value),
            };
            self.chosen[count] = slot;
            self.each(count + 1, next, visit);
        }
    }

    /// Whether the chosen features, some of which belong to several groups, were visited in another order: whether they can
    /// be given to the groups in an order that is smaller. `used` are those given to the first `count` groups, in an order
    /// that is smaller already or equal so far.
    fn came_before(&self, used: &mut [bool; MOST_FACTORS], count: usize, is_smaller: bool) -> bool {
        let Some(&group) = self.groups.get(count) else { return is_smaller };
        for place in 0..self.groups.len() {
            let slot = self.chosen[place];
            let fits = !used[place]
                && (is_smaller || slot <= self.chosen[count])
                && self.interact.has(group, slot, self.x);
            if !fits {
                continue;
            }
            used[place] = true;
            let found = self.came_before(used, count + 1, is_smaller || slot < self.chosen[count]);
            used[place] = false;
            if found {
                return true;
            }
        }
        false
    }
}

impl Part for Interact {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&State {})
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        unpack::<State>(NAME, bytes)?;
        self.tokens = Tokens::default();
        Ok(())
    }

    fn savepoint(&mut self) -> bool {
        true
    }

    fn memory(&self) -> usize {
        let members: usize = self.member.iter().map(Vec::capacity).sum();
        std::mem::size_of::<Self>() + self.tokens.memory() + self.names.memory() + members + self.groups.len() * 64
    }

    fn abilities(&self) -> Abilities {
        Abilities { needs_names: true, checks_rows: true, missing_is_zero: true, ..Abilities::default() }
    }

    fn bind(&mut self, schema: &Schema) {
        self.tokens.bind(schema, |token| hash_name(token.as_bytes(), 0) as u32);
        self.names.bind(schema);
        let names: Vec<String> = schema.names().map(|name| name.text()).collect();
        let has = |group: &Group| names.iter().map(|name| group.has(name)).collect();
        self.member = self.groups.iter().map(has).collect();
        let unmatched = self.groups.iter().zip(&self.member).find(|(group, member)| match group.matches {
            Match::Kind(_) => false,
            Match::Name | Match::Pattern(_) => !member.contains(&Some(true)),
        });
        self.absent = unmatched.filter(|_| !names.is_empty()).map(|(group, _)| {
            let shown: Vec<&str> = names.iter().take(8).map(String::as_str).collect();
            let more = if names.len() > shown.len() { ", …" } else { "" };
            format!(
                "{NAME}: pairs must name features of the stream; none matches '{}', there are {}{more}",
                group.text,
                shown.join(", ")
            )
        });
    }

    fn check(&self, x: Row<'_>, scratch: &mut Scratch) -> Result<()> {
        self.check_count(x, scratch)
    }

    fn merge_state(&mut self, _merger: &Merger<'_>) -> Result<()> {
        Ok(())
    }

    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        let columns = schema
            .names()
            .enumerate()
            .filter_map(|(slot, name)| Some((name.text(), json!(self.tokens.number(slot)? & self.mask))));
        let mut told = json!({ "features": columns.collect::<serde_json::Map<_, _>>() });
        if let Some(names) = self.names.inspect() {
            told["names"] = names;
        }
        told
    }
}

impl Transformer for Interact {
    fn learn(&mut self, x: Row<'_>, _y: Truth, _w: f64, scratch: &mut Scratch) -> Result<()> {
        if let Some(absent) = &self.absent {
            return Err(Fault::value(absent.clone()));
        }
        self.check_count(x, scratch)
    }

    fn transform(&self, x: Row<'_>, out: &mut RowBuffer, scratch: &mut Scratch) {
        let (mut indices, mut values) = (scratch.take_indices(), scratch.take_numbers());
        let features = self.features(x, scratch);
        let texts = if self.names.is_on() { self.names.texts(x) } else { Vec::new() };
        if self.linear {
            for (column, (_, text)) in features.columns.iter().zip(&texts) {
                self.names.add(column & self.mask, &[text]);
            }
            indices.extend(features.columns.iter().map(|column| column & self.mask));
            values.extend_from_slice(&features.values);
        }
        for groups in &self.products {
            let mut products =
                Products { interact: self, x, features: &features, groups, chosen: [0; MOST_FACTORS] };
            products.each(0, (0, 1.0), &mut |column, value, slots| {
                indices.push(column & self.mask);
                values.push(value);
                if self.names.is_on() {
                    let text = |slot: &u32| texts.iter().find(|(own, _)| own == slot).map(|&(_, text)| text);
                    self.names.add(column & self.mask, &slots.iter().filter_map(text).collect::<Vec<_>>());
                }
            });
        }
        features.release(scratch);
        let mut order = scratch.take_indices();
        out.sparse(self.mask as usize + 1);
        settle(&indices, &values, &mut order, |index, value| out.push(index, value));
        scratch.give_indices(order);
        scratch.give_indices(indices);
        scratch.give_numbers(values);
    }

    fn is_stateless(&self) -> bool {
        true
    }

    fn zeros(&self, _input: Zeros) -> Zeros {
        Zeros::Omitted
    }

    fn output(&self, _input: &Schema) -> Schema {
        let mut schema = Schema::default();
        schema.widen(self.mask as usize + 1);
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

    fn hashed(pairs: &[&str], linear: bool) -> Vec<(u32, f64)> {
        let description = registry::resolve(&json!({
            "name": NAME, "parameters": { "pairs": pairs, "linear": linear, "bits": 28 }
        }));
        let Built::Transformer(mut interact) = registry::build_resolved(&description.unwrap()).unwrap() else {
            panic!()
        };
        let mut schema = Schema::default();
        let user = schema.push(&"user".into(), Nominal);
        schema.intern_value(user, "ann");
        schema.push(&"price".into(), Number);
        schema.push(&"size".into(), Number);
        interact.bind(&schema);
        let (mut out, mut scratch) = (RowBuffer::default(), Scratch::default());
        let x = Row::Mixed(&[0.0, 2.0, 3.0], &[Nominal, Number, Number]);
        interact.learn(x, Truth::None, 1.0, &mut scratch).unwrap();
        interact.transform(x, &mut out, &mut scratch);
        let Row::Sparse(found) = out.row() else { panic!() };
        found.indices.iter().copied().zip(found.values.iter().copied()).collect()
    }

    fn sorted(mut entries: Vec<(u32, f64)>) -> Vec<(u32, f64)> {
        entries.sort_by_key(|entry| entry.0);
        entries
    }

    #[test]
    fn products_by_hand() {
        let mask = (1 << 28) - 1;
        let [ann, price, size] = ["user=ann", "price", "size"].map(|name| hash_name(name.as_bytes(), 0) as u32);
        let of = |a: u32, b: u32| (PRIME.wrapping_mul(a) ^ b) & mask;
        let both = sorted(vec![(ann & mask, 1.0), (price & mask, 2.0), (size & mask, 3.0), (of(ann, price), 2.0)]);
        assert_eq!(hashed(&["user \u{d7} price"], true), both);
        // Two orders of the same groups are one product.
        assert_eq!(hashed(&["user \u{d7} price", "price \u{d7} user"], true), both);
        let squares = vec![(of(price, price), 4.0), (of(price, size), 6.0), (of(size, size), 9.0)];
        assert_eq!(hashed(&["kind:number \u{d7} kind:number"], false), sorted(squares.clone()));
        // Features of both groups meet once.
        assert_eq!(hashed(&["*i* \u{d7} kind:number"], false), sorted(squares));
        let triple = vec![(of(PRIME.wrapping_mul(ann) ^ price, size), 6.0)];
        assert_eq!(hashed(&["user \u{d7} price \u{d7} size"], false), triple);
    }
}
