//! Feature selection: `Select` keeps the matching features, `Drop` discards them.
//!
//! A feature matches by name, by pattern or by kind; one of these suffices. The kept features keep the order in which
//! they were first learned, and an index that never changes.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::key_use::KeyUses;
use crate::merging::{Merge, Merger};
use crate::parameter::{Arguments, Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Part};
use crate::row::{Row, RowBuffer, Scratch};
use crate::schema::{FeatureKind, Name, Schema};
use crate::task::Truth;
use crate::transformer::{Transformer, Zeros};

/// A feature without an index.
const NONE: u32 = u32::MAX;

const PARAMETERS: &[Parameter] = &[
    Parameter::new("names", Kind::Optional(&Kind::Names), DefaultValue::Null, "names of features"),
    Parameter::new(
        "kind",
        Kind::Optional(&Kind::Choice(&["number", "nominal"])),
        DefaultValue::Null,
        "features of this kind",
    ),
    Parameter::new(
        "pattern",
        Kind::Optional(&Kind::Text),
        DefaultValue::Null,
        "features whose name matches this pattern; * matches any string, ? any single character",
    ),
];

pub static SELECT: Declaration = Declaration {
    name: "compose.Select",
    role: Role::Transformer,
    words: "Selects features by name, kind or pattern",
    merge: Merge::STATELESS,
    parameters: PARAMETERS,
    build: |arguments| build(arguments, "compose.Select", true),
};

pub static DROP: Declaration = Declaration {
    name: "compose.Drop",
    role: Role::Transformer,
    words: "Discards features by name, kind or pattern",
    merge: Merge::STATELESS,
    parameters: PARAMETERS,
    build: |arguments| build(arguments, "compose.Drop", false),
};

fn build(arguments: &Arguments<'_>, who: &'static str, keeps: bool) -> Result<Built> {
    let given = |name: &str| Ok::<_, Fault>(!arguments.value(name)?.is_null());
    let names = if given("names")? { arguments.names("names")? } else { Vec::new() };
    let kind = match given("kind")? {
        false => None,
        true if arguments.text("kind")? == "number" => Some(FeatureKind::Number),
        true => Some(FeatureKind::Nominal),
    };
    let pattern = if given("pattern")? { Some(arguments.text("pattern")?.chars().collect()) } else { None };
    if names.is_empty() && kind.is_none() && pattern.is_none() {
        return Err(Fault::value(format!("{who}: needs names, a kind or a pattern")));
    }
    Ok(Built::Transformer(Box::new(Selection {
        who,
        keeps,
        names,
        kind,
        pattern,
        named: Vec::new(),
        state: State::default(),
        chosen: Vec::new(),
        undo: Undo::default(),
        at_savepoint: None,
    })))
}

#[derive(Clone)]
struct Selection {
    who: &'static str,
    keeps: bool,
    names: Vec<Name>,
    kind: Option<FeatureKind>,
    pattern: Option<Vec<char>>,
    /// By slot: whether the name or the pattern matches.
    named: Vec<bool>,
    state: State,
    /// The slot at each output index; derived from the state.
    chosen: Vec<u32>,
    undo: Undo,
    at_savepoint: Option<Undo>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct State {
    /// By slot: the index in the output.
    #[serde(rename = "places")]
    indices: Vec<u32>,
}

/// What is needed to revert the last `learn`, or to return to a savepoint.
#[derive(Clone, Copy, Debug, Default)]
struct Undo {
    width: usize,
    chosen: usize,
}

impl Selection {
    fn revert(&mut self, undo: Undo) {
        for slot in self.chosen.drain(undo.chosen..) {
            self.state.indices[slot as usize] = NONE;
        }
        self.state.indices.truncate(undo.width);
    }

    fn wanted(&self, slot: usize, kind: FeatureKind) -> bool {
        let named = self.named.get(slot).copied().unwrap_or(false);
        match (self.keeps, self.kind) {
            (true, None) => named,
            (true, Some(wanted)) => named || kind == wanted,
            (false, None) => !named,
            // A feature of unknown kind cannot be selected yet.
            (false, Some(unwanted)) => !named && kind != unwanted && kind != FeatureKind::Unknown,
        }
    }

    /// Matching slots without an output index.
    fn fresh<'a>(
        &'a self,
        width: usize,
        kind: impl Fn(usize) -> FeatureKind + 'a,
    ) -> impl Iterator<Item = u32> + 'a {
        // By name alone, a slot is decided once.
        let from = if self.kind.is_none() { self.state.indices.len() } else { 0 };
        (from..width)
            .filter(move |&slot| {
                self.state.indices.get(slot).is_none_or(|&index| index == NONE) && self.wanted(slot, kind(slot))
            })
            .map(|slot| slot as u32)
    }

    fn chosen_from(indices: &[u32]) -> Vec<u32> {
        let mut pairs: Vec<(u32, u32)> = (0..indices.len() as u32)
            .map(|slot| (indices[slot as usize], slot))
            .filter(|(index, _)| *index != NONE)
            .collect();
        pairs.sort_unstable();
        pairs.into_iter().map(|(_, slot)| slot).collect()
    }
}

fn kind_in(x: Row<'_>) -> impl Fn(usize) -> FeatureKind + '_ {
    move |slot| match x {
        Row::Mixed(_, kinds) => kinds[slot],
        _ => FeatureKind::Number,
    }
}

/// Whether `text` matches a pattern of `*` and `?`: after a mismatch, the last star takes one character more.
pub(super) fn fits(pattern: &[char], text: &str) -> bool {
    let text: Vec<char> = text.chars().collect();
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(&c) if c == '?' || c == text[t] => {
                p += 1;
                t += 1;
            }
            _ => {
                let Some((at, taken)) = star else { return false };
                star = Some((at, taken + 1));
                p = at + 1;
                t = taken + 1;
            }
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

impl Part for Selection {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(self.who, bytes)?;
        let chosen = Self::chosen_from(&state.indices);
        let in_order =
            chosen.iter().enumerate().all(|(index, &slot)| state.indices[slot as usize] == index as u32);
        require(self.who, in_order, "an index is out of order")?;
        self.state = state;
        self.chosen = chosen;
        self.undo = Undo::default();
        Ok(())
    }

    fn infallible(&self) -> bool {
        true
    }

    fn savepoint(&mut self) -> bool {
        self.at_savepoint = Some(Undo { width: self.state.indices.len(), chosen: self.chosen.len() });
        true
    }

    fn rollback(&mut self) {
        if let Some(before) = self.at_savepoint.take() {
            self.revert(before);
        }
    }

    fn commit(&mut self) {
        self.at_savepoint = None;
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>()
            + (self.state.indices.capacity() + self.chosen.capacity()) * 4
            + self.named.capacity()
            + self.names.len() * 64
    }

    fn abilities(&self) -> Abilities {
        let needs_names = !self.names.is_empty() || self.pattern.is_some();
        Abilities { needs_names, keeps_missing: true, ..Abilities::default() }
    }

    fn bind(&mut self, schema: &Schema) {
        if !self.abilities().needs_names {
            return;
        }
        let named = |name: Name| {
            let fits = |pattern: &Vec<char>| fits(pattern, &name.text());
            self.names.contains(&name) || self.pattern.as_ref().is_some_and(fits)
        };
        self.named = schema.names().map(named).collect();
    }

    fn key_uses(&self) -> KeyUses {
        match self.kind.is_none() && self.pattern.is_none() {
            true => KeyUses::selected(&self.names, self.keeps),
            false => KeyUses::passed(),
        }
    }

    /// The selection depends on names and kinds only: merging adds output indices for new features.
    fn merge_state(&mut self, merger: &Merger<'_>) -> Result<()> {
        let ours = merger.ours;
        self.bind(ours);
        let fresh: Vec<u32> = self.fresh(ours.len(), |slot| ours.kinds()[slot]).collect();
        self.state.indices.resize(self.state.indices.len().max(ours.len()), NONE);
        for slot in fresh {
            self.state.indices[slot as usize] = self.chosen.len() as u32;
            self.chosen.push(slot);
        }
        self.undo = Undo { width: self.state.indices.len(), chosen: self.chosen.len() };
        Ok(())
    }

    fn inspect(&self, schema: &Schema) -> serde_json::Value {
        let names: Vec<String> = self.output(schema).names().map(|name| name.text()).collect();
        json!({ "output": names })
    }
}

impl Transformer for Selection {
    fn transform(&self, x: Row<'_>, out: &mut RowBuffer, _: &mut Scratch) {
        let width = x.width();
        match x {
            Row::Sparse(sparse) => {
                let fresh = self.fresh(width, kind_in(x)).count();
                out.sparse(self.chosen.len() + fresh);
                for (&slot, &value) in sparse.indices.iter().zip(sparse.values) {
                    match self.state.indices.get(slot as usize) {
                        Some(&index) if index != NONE => out.push(index, value),
                        _ => {
                            if let Some(at) = self.fresh(width, kind_in(x)).position(|fresh| fresh == slot) {
                                out.push((self.chosen.len() + at) as u32, value);
                            }
                        }
                    }
                }
                out.ascend();
            }
            Row::Plain(values) | Row::Mixed(values, _) => {
                let kind = kind_in(x);
                let slots = || self.chosen.iter().copied().chain(self.fresh(width, &kind));
                let plain = slots().all(|slot| {
                    let slot = slot as usize;
                    slot < width && kind(slot) == FeatureKind::Number && !values[slot].is_nan()
                });
                let count = slots().count();
                if plain {
                    let out = out.plain(count);
                    out.iter_mut().zip(slots()).for_each(|(out, slot)| *out = values[slot as usize]);
                } else {
                    let (numbers, kinds) = out.mixed(count);
                    for (index, slot) in slots().enumerate().filter(|(_, slot)| (*slot as usize) < width) {
                        numbers[index] = values[slot as usize];
                        kinds[index] = kind(slot as usize);
                    }
                }
            }
        }
    }

    fn learn(&mut self, x: Row<'_>, _y: Truth, _w: f64, scratch: &mut Scratch) -> Result<()> {
        self.undo = Undo { width: self.state.indices.len(), chosen: self.chosen.len() };
        let mut fresh = scratch.take_indices();
        fresh.extend(self.fresh(x.width(), kind_in(x)));
        if x.width() > self.state.indices.len() {
            self.state.indices.resize(x.width(), NONE);
        }
        for &slot in &fresh {
            self.state.indices[slot as usize] = self.chosen.len() as u32;
            self.chosen.push(slot);
        }
        scratch.give_indices(fresh);
        Ok(())
    }

    fn undo(&mut self) {
        self.revert(self.undo);
    }

    fn is_stateless(&self) -> bool {
        true
    }

    fn zeros(&self, input: Zeros) -> Zeros {
        input
    }

    fn output(&self, input: &Schema) -> Schema {
        let mut schema = Schema::default();
        let kind = |slot: usize| input.kinds()[slot];
        for slot in self.chosen.iter().copied().chain(self.fresh(input.len(), kind)) {
            schema.push_from(input, slot as usize, None);
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

    #[test]
    fn patterns() {
        let fits = |pattern: &str, text: &str| fits(&pattern.chars().collect::<Vec<_>>(), text);
        assert!(fits("lag_*", "lag_12") && fits("*", "") && fits("a?c", "abc") && fits("*b*b", "abbab"));
        assert!(!fits("lag_*", "slag_1") && !fits("a?c", "ac") && !fits("", "a") && !fits("*b", "ba"));
    }

    #[test]
    fn places_follow_the_order_in_which_kinds_become_known() {
        let description = registry::resolve(&json!({
            "name": "compose.Select", "parameters": { "kind": "number" }
        }));
        let Built::Transformer(mut select) = registry::build_resolved(&description.unwrap()).unwrap() else {
            panic!()
        };
        let mut scratch = Scratch::default();
        use FeatureKind::{Nominal, Number, Unknown};
        select
            .learn(Row::Mixed(&[f64::NAN, 1.0, 0.0], &[Unknown, Number, Nominal]), Truth::None, 1.0, &mut scratch)
            .unwrap();
        let before = select.save().unwrap();
        let kinds = [Number, Number, Nominal];
        select.learn(Row::Mixed(&[5.0, 2.0, 0.0], &kinds), Truth::None, 1.0, &mut scratch).unwrap();
        // Slot 1 was learned first and has index 0, slot 0 has index 1.
        let mut out = RowBuffer::default();
        select.transform(Row::Mixed(&[5.0, 2.0, 0.0], &kinds), &mut out, &mut scratch);
        let Row::Plain(z) = out.row() else { panic!() };
        assert_eq!(z, [2.0, 5.0]);
        select.undo();
        assert_eq!(select.save().unwrap(), before);
    }
}
