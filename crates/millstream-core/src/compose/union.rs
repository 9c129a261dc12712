//! Several transformers side by side, whose features are concatenated.
//!
//! Each component learns and transforms the same row. A feature gets its index in the union when it is first learned,
//! component by component, and keeps it. A name that is taken already is prefixed with the name of the component. If
//! one component refuses an example, the previous ones revert it.

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use serde_json::{json, Value as Json};

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, require, unpack};
use crate::merging::{Merge, Merger, Side};
use crate::parameter::{Arguments, Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Extracted, Part};
use crate::row::{Row, RowBuffer, Scratch};
use crate::schema::{FeatureKind, Name, Schema};
use crate::task::Truth;
use crate::transformer::{Transformer, Zeros};

const NAME: &str = "compose.Union";
/// Unions narrower than this are written densely; wider ones may become sparse.
const SPARSE_FROM: usize = 64;

pub static DECLARATION: Declaration = Declaration {
    name: NAME,
    role: Role::Transformer,
    words: "Transformers side by side, whose features are concatenated",
    merge: Merge::COMPONENTS,
    parameters: &[
        Parameter::new(
            "parts",
            Kind::Parts(&[Role::Transformer]),
            DefaultValue::Required,
            "transformers, which all receive the same row",
        ),
        Parameter::new(
            "names",
            Kind::Optional(&Kind::Names),
            DefaultValue::Null,
            "name of each transformer, the prefix of feature names that are taken already",
        ),
    ],
    build,
};

fn build(arguments: &Arguments<'_>) -> Result<Built> {
    let mut parts = Vec::new();
    for part in arguments.parts("parts")? {
        match part {
            Built::Transformer(part) => parts.push(part),
            _ => return Err(Fault::wrong_type(format!("{NAME}: parts must be transformers"))),
        }
    }
    if parts.is_empty() {
        return Err(Fault::value(format!("{NAME}: needs at least one part")));
    }
    let names = super::member_names(arguments, "parts", parts.len())?;
    let indices = vec![Vec::new(); parts.len()];
    let undo = Vec::with_capacity(parts.len());
    Ok(Built::Transformer(Box::new(Union { parts, names, indices, width: 0, undo })))
}

struct Union {
    parts: Vec<Box<dyn Transformer>>,
    names: Vec<String>,
    /// For each component: the index of each of its features.
    indices: Vec<Vec<u32>>,
    /// The number of features so far.
    width: u32,
    /// The number of features of each component before the last `learn`.
    undo: Vec<usize>,
}

impl Clone for Union {
    fn clone(&self) -> Self {
        Union {
            parts: self.parts.iter().map(|part| part.duplicate()).collect(),
            names: self.names.clone(),
            indices: self.indices.clone(),
            width: self.width,
            undo: self.undo.clone(),
        }
    }
}

#[derive(Serialize, Deserialize)]
struct State {
    parts: Vec<ByteBuf>,
    #[serde(rename = "places")]
    indices: Vec<Vec<u32>>,
}

/// Assigns indices to features that have none yet: after all existing ones.
#[derive(Clone, Copy)]
struct Beyond(usize);

impl Beyond {
    /// The index of feature `at` of a component with these indices.
    fn index(&mut self, indices: &[u32], at: usize) -> usize {
        match indices.get(at) {
            Some(&index) => index as usize,
            None => {
                self.0 += 1;
                self.0 - 1
            }
        }
    }
}

/// Collects the features of all components in a row.
struct OutputBuilder {
    beyond: Beyond,
    plain: bool,
    written: usize,
}

impl OutputBuilder {
    fn add(&mut self, row: Row<'_>, indices: &[u32], out: &mut RowBuffer) {
        let mut put = |at: usize, value: f64, kind: FeatureKind| {
            out.put(self.beyond.index(indices, at), value, kind);
            self.written += 1;
            self.plain &= kind == FeatureKind::Number && !value.is_nan();
        };
        match row {
            Row::Plain(values) => {
                values.iter().enumerate().for_each(|(at, &value)| put(at, value, FeatureKind::Number));
            }
            Row::Mixed(values, kinds) => {
                values.iter().zip(kinds).enumerate().for_each(|(at, (&value, &kind))| put(at, value, kind));
            }
            Row::Sparse(sparse) => {
                let mut listed = sparse.indices.iter().zip(sparse.values).peekable();
                for at in 0..sparse.width {
                    let value = listed.next_if(|(&index, _)| index as usize == at).map_or(0.0, |(_, &v)| v);
                    put(at, value, FeatureKind::Number);
                }
            }
        }
    }

    fn finish(self, out: &mut RowBuffer) {
        if self.plain && self.written == self.beyond.0 {
            out.plain(self.written);
        }
    }
}

impl Union {
    /// Write the features of all components to a mixed row, and make it plain if possible.
    fn transform_in_full(&self, x: Row<'_>, out: &mut RowBuffer, scratch: &mut Scratch) {
        let mut buffer = scratch.take_row();
        let mut output = OutputBuilder { beyond: Beyond(self.width as usize), plain: true, written: 0 };
        out.mixed(self.width as usize);
        for (part, indices) in self.parts.iter().zip(&self.indices) {
            part.transform(x, &mut buffer, scratch);
            output.add(buffer.row(), indices, out);
        }
        scratch.give_row(buffer);
        output.finish(out);
    }

    /// Write the features of all components to a sparse row; false if no component is sparse, or if not all features
    /// are numbers.
    fn transform_sparse(&self, x: Row<'_>, out: &mut RowBuffer, scratch: &mut Scratch) -> bool {
        let mut buffer = scratch.take_row();
        let mut beyond = Beyond(self.width as usize);
        let (mut fits, mut sparse_parts, mut written) = (true, 0, 0);
        out.sparse(self.width as usize);
        for (part, indices) in self.parts.iter().zip(&self.indices) {
            part.transform(x, &mut buffer, scratch);
            match buffer.row() {
                Row::Plain(values) if values.len() <= indices.len() => {
                    values.iter().zip(indices).for_each(|(&value, &index)| out.push(index, value));
                    written += values.len();
                }
                Row::Sparse(sparse) if sparse.width <= indices.len() => {
                    for (&at, &value) in sparse.indices.iter().zip(sparse.values) {
                        out.push(beyond.index(indices, at as usize) as u32, value);
                    }
                    written += sparse.width;
                    sparse_parts += 1;
                }
                _ => fits = false,
            }
            if !fits {
                break;
            }
        }
        scratch.give_row(buffer);
        if !fits || sparse_parts == 0 || written != self.width as usize {
            return false;
        }
        out.ascend();
        true
    }

    fn give_places(&mut self, part: usize, width: usize) {
        let indices = &mut self.indices[part];
        while indices.len() < width {
            indices.push(self.width);
            self.width += 1;
        }
    }

    fn take_back_places(&mut self) {
        for (indices, &before) in self.indices.iter_mut().zip(&self.undo) {
            self.width -= (indices.len() - before) as u32;
            indices.truncate(before);
        }
        self.undo.clear();
    }
}

impl Part for Union {
    fn save(&self) -> Result<Vec<u8>> {
        let parts = self.parts.iter().map(|part| part.save().map(ByteBuf::from)).collect::<Result<_>>()?;
        pack(&State { parts, indices: self.indices.clone() })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(NAME, bytes)?;
        let count = self.parts.len();
        require(NAME, state.parts.len() == count && state.indices.len() == count, "parts are missing")?;
        let mut seen = vec![false; state.indices.iter().map(Vec::len).sum()];
        for &index in state.indices.iter().flatten() {
            let fresh = seen.get_mut(index as usize).is_some_and(|seen| !std::mem::replace(seen, true));
            require(NAME, fresh, "an index is out of order")?;
        }
        for (part, bytes) in self.parts.iter_mut().zip(&state.parts) {
            part.load(bytes)?;
        }
        self.width = seen.len() as u32;
        self.indices = state.indices;
        self.undo.clear();
        Ok(())
    }

    fn merge_state(&mut self, merger: &Merger<'_>) -> Result<()> {
        let read = |side: Side<'_>| -> Result<State> {
            let state: State = unpack(NAME, side.state)?;
            require(NAME, state.parts.len() == self.parts.len(), "parts are missing")?;
            Ok(state)
        };
        let theirs = read(merger.other)?;
        let base = merger.base.map(read).transpose()?;
        for index in 0..self.parts.len() {
            let part = &mut self.parts[index];
            part.bind(merger.ours);
            let base = base.as_ref().map(|base| &base.parts[index][..]);
            part.merge_state(&merger.inner(&theirs.parts[index], base))?;
            part.bind(merger.ours);
            let width = part.output(merger.ours).len();
            // Features that no example had yet are written behind the others.
            if !theirs.indices[index].is_empty() {
                self.give_places(index, width);
            }
        }
        self.undo.clear();
        Ok(())
    }

    fn each_part(&self, visit: &mut dyn FnMut(&dyn Part)) {
        self.parts.iter().for_each(|part| visit(&**part));
    }

    fn each_part_mut(&mut self, visit: &mut dyn FnMut(&mut dyn Part)) {
        self.parts.iter_mut().for_each(|part| visit(&mut **part));
    }

    fn abilities(&self) -> Abilities {
        let all = self.parts.iter().map(|part| part.abilities()).reduce(Abilities::and).unwrap_or_default();
        // Several components write missing values to slots of their own, in an order that depends on the first rows.
        Abilities { keeps_missing: false, ..all }
    }

    fn infallible(&self) -> bool {
        self.parts.iter().all(|part| part.infallible())
    }

    fn memory(&self) -> usize {
        let indices: usize = self.indices.iter().map(|indices| 24 + indices.capacity() * 4).sum();
        std::mem::size_of::<Self>() + indices + self.parts.iter().map(|part| part.memory()).sum::<usize>()
    }

    fn inspect(&self, schema: &Schema) -> Json {
        let parts: Vec<Json> = self.parts.iter().map(|part| part.inspect(schema)).collect();
        let names: Vec<String> = self.output(schema).names().map(|name| name.text()).collect();
        json!({ "parts": parts, "output": names })
    }

    fn member(&self, index: usize, input: &Schema) -> Result<Option<Extracted>> {
        Ok(self.parts.get(index).map(|part| Extracted {
            part: Built::Transformer(part.clone()),
            description: None,
            input: input.clone(),
            learned: None,
        }))
    }
}

impl Transformer for Union {
    fn transform(&self, x: Row<'_>, out: &mut RowBuffer, scratch: &mut Scratch) {
        if (self.width as usize) < SPARSE_FROM || !self.transform_sparse(x, out, scratch) {
            self.transform_in_full(x, out, scratch);
        }
    }

    fn learn(&mut self, x: Row<'_>, y: Truth, w: f64, scratch: &mut Scratch) -> Result<()> {
        for at in 0..self.parts.len() {
            if let Err(fault) = self.parts[at].learn(x, y, w, scratch) {
                self.parts[..at].iter_mut().rev().for_each(|part| part.undo());
                return Err(fault);
            }
        }
        self.undo.clear();
        let mut buffer = scratch.take_row();
        for at in 0..self.parts.len() {
            self.parts[at].transform(x, &mut buffer, scratch);
            self.undo.push(self.indices[at].len());
            self.give_places(at, buffer.row().width());
        }
        scratch.give_row(buffer);
        Ok(())
    }

    fn learn_and_transform(
        &mut self,
        x: Row<'_>,
        y: Truth,
        w: f64,
        out: &mut RowBuffer,
        scratch: &mut Scratch,
    ) -> Result<()> {
        if self.width as usize >= SPARSE_FROM {
            self.learn(x, y, w, scratch)?;
            self.transform(x, out, scratch);
            return Ok(());
        }
        let mut buffer = scratch.take_row();
        let mut output = OutputBuilder { beyond: Beyond(self.width as usize), plain: true, written: 0 };
        out.mixed(self.width as usize);
        self.undo.clear();
        for at in 0..self.parts.len() {
            if let Err(fault) = self.parts[at].learn_and_transform(x, y, w, &mut buffer, scratch) {
                scratch.give_row(buffer);
                self.parts[..at].iter_mut().rev().for_each(|part| part.undo());
                self.take_back_places();
                return Err(fault);
            }
            self.undo.push(self.indices[at].len());
            self.give_places(at, buffer.row().width());
            output.beyond = Beyond(self.width as usize);
            output.add(buffer.row(), &self.indices[at], out);
        }
        scratch.give_row(buffer);
        output.finish(out);
        Ok(())
    }

    fn undo(&mut self) {
        self.parts.iter_mut().rev().for_each(|part| part.undo());
        self.take_back_places();
    }

    /// If the last row has added no features.
    fn is_frozen(&self) -> bool {
        let settled = self.undo.len() == self.parts.len()
            && self.undo.iter().zip(&self.indices).all(|(&before, indices)| before == indices.len());
        settled && self.parts.iter().all(|part| part.is_frozen())
    }

    /// Those of all components.
    fn zeros(&self, input: Zeros) -> Zeros {
        self.parts.iter().map(|part| part.zeros(input)).min().unwrap_or(Zeros::Written)
    }

    fn output(&self, input: &Schema) -> Schema {
        let outputs: Vec<Schema> = self.parts.iter().map(|part| part.output(input)).collect();
        let mut features: Vec<Option<(usize, usize)>> = vec![None; self.width as usize];
        let mut beyond = Beyond(self.width as usize);
        for (number, (output, indices)) in outputs.iter().zip(&self.indices).enumerate() {
            for at in 0..output.len() {
                let index = beyond.index(indices, at);
                if index >= features.len() {
                    features.resize(index + 1, None);
                }
                features[index] = Some((number, at));
            }
        }
        let mut schema = Schema::default();
        for (index, feature) in features.into_iter().enumerate() {
            let Some((number, at)) = feature else {
                schema.push_unique(Name::Text(format!("feature_{index}").into()), FeatureKind::Number);
                continue;
            };
            let name = outputs[number].name(at);
            let taken = schema.slot(&name).is_some();
            let prefixed = taken.then(|| Name::Text(format!("{}_{}", self.names[number], name.text()).into()));
            schema.push_from(&outputs[number], at, prefixed);
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
    fn two_scalers_by_hand() {
        let description = registry::resolve(&json!({ "name": NAME, "parameters": { "parts": [
            "preprocessing.MinMaxScaler", "preprocessing.MaxAbsScaler"
        ] } }));
        let Built::Transformer(mut union) = registry::build_resolved(&description.unwrap()).unwrap() else {
            panic!()
        };
        let mut scratch = Scratch::default();
        union.learn(Row::Plain(&[2.0]), Truth::None, 1.0, &mut scratch).unwrap();
        union.learn(Row::Plain(&[6.0]), Truth::None, 1.0, &mut scratch).unwrap();
        let before = union.save().unwrap();
        union.learn(Row::Plain(&[8.0, 5.0]), Truth::None, 1.0, &mut scratch).unwrap();
        union.undo();
        assert_eq!(union.save().unwrap(), before);
        // Extremes 2 and 6: 3 is a quarter of the way, and half of 6.
        let mut out = RowBuffer::default();
        union.transform(Row::Plain(&[3.0]), &mut out, &mut scratch);
        let Row::Plain(z) = out.row() else { panic!() };
        assert_eq!(z, [0.25, 0.5]);
        let mut schema = Schema::default();
        schema.push(&"x".into(), FeatureKind::Number);
        let names: Vec<String> = union.output(&schema).names().map(|name| name.text()).collect();
        assert_eq!(names, ["x", "MaxAbsScaler_x"]);
        // Learning and transforming in one call gives the same.
        let mut fused = union.duplicate();
        let (mut at_once, row) = (RowBuffer::default(), Row::Plain(&[7.0, 1.0]));
        fused.learn_and_transform(row, Truth::None, 1.0, &mut at_once, &mut scratch).unwrap();
        union.learn(row, Truth::None, 1.0, &mut scratch).unwrap();
        union.transform(row, &mut out, &mut scratch);
        let (Row::Plain(a), Row::Plain(b)) = (at_once.row(), out.row()) else { panic!() };
        assert_eq!((a, fused.save().unwrap()), (b, union.save().unwrap()));
        fused.undo();
        assert_eq!(fused.save().unwrap(), before);
        // The first component does not overflow; the range of the second example does.
        union.learn(Row::Plain(&[f64::MAX]), Truth::None, 1.0, &mut scratch).unwrap();
        let before = union.save().unwrap();
        assert!(union.learn(Row::Plain(&[f64::MIN]), Truth::None, 1.0, &mut scratch).is_err());
        assert_eq!(union.save().unwrap(), before);
    }
}
