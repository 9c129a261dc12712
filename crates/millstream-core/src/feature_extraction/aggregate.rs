//! `Agg` and `TargetAgg`: a statistic of a feature, or of the target, for each group of rows.
//!
//! A group consists of the rows with the same values of the features `by`. Learning a row updates the statistic of its
//! group; the output is the value of that statistic. `TargetAgg` transforms a row before it learns it, so that the
//! output never contains the target of its own row. A row whose group is missing is not learned, and its output is
//! missing; a row whose number is missing is not learned.
//!
//! A statistic has no inverse, so a copy of the statistic before each row serves to revert it.

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use serde_json::{json, Value as Json};

use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::held::state::{pack, unpack};
use crate::htm;
use crate::key_table::{shown_key, Capacity, KeyTable, SavedTable, MAX_KEYS, WHEN_FULL};
use crate::key_use::KeyUses;
use crate::merging::Merge;
use crate::parameter::{Arguments, Default as DefaultValue, Kind, Parameter};
use crate::part::{Abilities, Part};
use crate::row::{Row, RowBuffer, Scratch, Value};
use crate::schema::{FeatureKind, Name, Schema};
use crate::statistic::Statistic;
use crate::task::Truth;
use crate::transformer::Transformer;

use super::output_name::word;

const AGG_NAME: &str = "feature_extraction.Agg";
const TARGET_AGG_NAME: &str = "feature_extraction.TargetAgg";

const BY: Parameter = Parameter::new(
    "by",
    Kind::Optional(&Kind::Names),
    DefaultValue::Required,
    "names of the features whose values form a group; None for one group of all rows",
);
const HOW: Parameter =
    Parameter::new("how", Kind::Part(&[Role::Statistic]), DefaultValue::Required, "the statistic");
const TIME: Parameter = Parameter::new(
    "time",
    Kind::Optional(&Kind::Name),
    DefaultValue::Null,
    "name of the feature with the time of the row, for statistics that need it",
);

pub static AGG: Declaration = Declaration {
    name: AGG_NAME,
    role: Role::Transformer,
    words: "A statistic of a feature for each group of rows",
    merge: Merge::none("the tables of keys of two models may have dropped different keys: learn the whole stream with one encoder"),
    parameters: &[
        Parameter::new("on", Kind::Name, DefaultValue::Required, "name of the feature that is summarised"),
        BY,
        HOW,
        TIME,
        MAX_KEYS.with_words("the largest number of groups with a statistic of their own"),
        WHEN_FULL,
    ],
    build: |arguments| build(arguments, AGG_NAME, arguments.name("on")?),
};

pub static TARGET_AGG: Declaration = Declaration {
    name: TARGET_AGG_NAME,
    role: Role::Transformer,
    words: "A statistic of the target for each group of rows",
    merge: Merge::none("the tables of keys of two models may have dropped different keys: learn the whole stream with one encoder"),
    parameters: &[
        BY,
        HOW,
        Parameter::new("target_name", Kind::Text, DefaultValue::Text("y"), "name of the target in the output"),
        TIME,
        MAX_KEYS.with_words("the largest number of groups with a statistic of their own"),
        WHEN_FULL,
    ],
    build: |arguments| build(arguments, TARGET_AGG_NAME, None),
};

fn build(arguments: &Arguments<'_>, who: &'static str, on: Option<Name>) -> Result<Built> {
    let Built::Statistic(fresh) = arguments.part("how")? else { return Err(arguments.absent("how")) };
    let by = if arguments.value("by")?.is_null() { Vec::new() } else { arguments.names("by")? };
    if by.iter().enumerate().any(|(place, name)| by[..place].contains(name)) {
        return Err(Fault::value(format!("{who}: by must name each feature once")));
    }
    let time = arguments.name("time")?;
    if fresh.takes_pairs() {
        return Err(Fault::value(format!("{who}: how must be a statistic of one variable")));
    }
    if fresh.takes_time() && time.is_none() {
        return Err(Fault::value(format!(
            "{who}: time must name a feature, because the statistic needs the time"
        )));
    }
    let subject = match &on {
        Some(on) => on.text(),
        None => arguments.text("target_name")?.into(),
    };
    let mut name = format!("{subject}_{}", word(arguments.value("how")?));
    if !by.is_empty() {
        let by: Vec<String> = by.iter().map(Name::text).collect();
        name = format!("{name}_by_{}", by.join("_and_"));
    }
    let capacity = Capacity::new(arguments)?;
    let groups = KeyTable::new(capacity, by.len(), fresh.duplicate());
    let slots = vec![None; by.len()];
    let mut output = Schema::default();
    output.push(&Name::Text(name.into()), FeatureKind::Number);
    output.mark();
    Ok(Built::Transformer(Box::new(Aggregate {
        who,
        on,
        by,
        time,
        output,
        capacity,
        fresh,
        on_slot: None,
        time_slot: None,
        slots,
        groups,
        key: Vec::new(),
    })))
}

/// The names of the features that are times in a description: strings, or numbers of columns.
pub fn time_features(description: &Json, visit: &mut dyn FnMut(&Json)) {
    match description {
        Json::Object(fields) => {
            let timed = [AGG_NAME, TARGET_AGG_NAME, htm::date_encoder::NAME, htm::htm_anomaly::NAME];
            let has_time = fields.get("name").is_some_and(|name| timed.iter().any(|timed| name == timed));
            if let (true, Some(time)) = (has_time, fields.get("parameters").map(|all| &all["time"])) {
                if !time.is_null() {
                    visit(time);
                }
            }
            fields.values().for_each(|value| time_features(value, visit));
        }
        Json::Array(items) => items.iter().for_each(|item| time_features(item, visit)),
        _ => {}
    }
}

impl Clone for Aggregate {
    fn clone(&self) -> Self {
        Aggregate {
            on: self.on.clone(),
            by: self.by.clone(),
            time: self.time.clone(),
            output: self.output.clone(),
            fresh: self.fresh.duplicate(),
            slots: self.slots.clone(),
            groups: self.groups.clone(),
            key: Vec::new(),
            ..*self
        }
    }
}

struct Aggregate {
    who: &'static str,
    /// The feature that is summarised; none for the target.
    on: Option<Name>,
    by: Vec<Name>,
    time: Option<Name>,
    /// One number.
    output: Schema,
    capacity: Capacity,
    /// The statistic of an empty group.
    fresh: Box<dyn Statistic>,
    on_slot: Option<u32>,
    time_slot: Option<u32>,
    slots: Vec<Option<u32>>,
    groups: KeyTable<Box<dyn Statistic>>,
    /// Buffer for a key.
    key: Vec<f64>,
}

#[derive(Serialize, Deserialize)]
struct State {
    groups: SavedTable<ByteBuf>,
}

impl Aggregate {
    /// Write the key of a row; false if a value is missing.
    #[inline]
    fn read_key(slots: &[Option<u32>], x: Row<'_>, key: &mut Vec<f64>) -> bool {
        key.clear();
        key.extend(slots.iter().map(|slot| slot.map_or(f64::NAN, |slot| x.key(slot as usize))));
        !key.iter().any(|number| number.is_nan())
    }

    fn number(&self, x: Row<'_>, slot: Option<u32>, name: Option<&Name>) -> Result<Option<f64>> {
        match slot.and_then(|slot| x.get(slot as usize)) {
            None => Ok(None),
            Some(Value::Number(number)) => Ok(Some(number)),
            Some(Value::Nominal(_)) => {
                let name = name.map(Name::to_string).unwrap_or_default();
                Err(Fault::wrong_type(format!("{}: feature {name} must be a number, got a string", self.who)))
            }
        }
    }

    /// The number that a row adds to its group; none if it is missing.
    fn subject(&self, x: Row<'_>, y: Truth) -> Result<Option<f64>> {
        if self.on.is_some() {
            return self.number(x, self.on_slot, self.on.as_ref());
        }
        match y {
            Truth::None => Ok(None),
            Truth::Number(y) => Ok(Some(y)),
            Truth::Class(class @ 0..=1) => Ok(Some(f64::from(class))),
            Truth::Class(_) => Err(Fault::value(format!(
                "{}: the target must be a number or one of two classes, got a third class; \
                 preprocessing.TargetEncoder encodes any number of classes",
                self.who
            ))),
        }
    }
}

impl Part for Aggregate {
    fn save(&self) -> Result<Vec<u8>> {
        pack(&State { groups: self.groups.saved(|statistic| statistic.save().map(ByteBuf::from))? })
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(self.who, bytes)?;
        let fresh = &self.fresh;
        self.groups.load(self.who, state.groups, |bytes: ByteBuf| {
            let mut statistic = fresh.duplicate();
            statistic.load(&bytes)?;
            Ok(statistic)
        })
    }

    fn savepoint(&mut self) -> bool {
        self.groups.savepoint();
        true
    }

    fn rollback(&mut self) {
        self.groups.rollback();
    }

    fn commit(&mut self) {
        self.groups.commit();
    }

    fn abilities(&self) -> Abilities {
        Abilities { needs_names: true, uses_target: self.on.is_none(), ..Abilities::default() }
    }

    fn bind(&mut self, schema: &Schema) {
        let slot = |name: &Option<Name>| name.as_ref().and_then(|name| schema.slot(name));
        (self.on_slot, self.time_slot) = (slot(&self.on), slot(&self.time));
        self.slots = self.by.iter().map(|name| schema.slot(name)).collect();
    }

    fn key_uses(&self) -> KeyUses {
        KeyUses::grouped(&self.by, self.capacity.max_keys)
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.fresh.memory() + self.groups.memory(|statistic| statistic.memory())
    }

    fn scalars(&self) -> Json {
        let groups = &self.groups;
        json!({ "keys": groups.len(), "folded": groups.folded(), "evicted": groups.evicted() })
    }

    fn inspect(&self, schema: &Schema) -> Json {
        let key = |key: &[f64]| -> Vec<Json> {
            let shown = |(slot, &key): (&Option<u32>, &f64)| {
                slot.map_or(Json::Null, |slot| shown_key(schema, slot as usize, key))
            };
            self.slots.iter().zip(key).map(shown).collect()
        };
        let groups: Vec<Json> =
            self.groups.each().map(|(parts, statistic)| json!([key(parts), statistic.get()])).collect();
        json!({
            "output": self.output.name(0).text(), "groups": groups, "other": self.groups.other().map(|other| other.get()),
            "folded": self.groups.folded(), "evicted": self.groups.evicted(),
        })
    }
}

impl Transformer for Aggregate {
    fn transform(&self, x: Row<'_>, out: &mut RowBuffer, scratch: &mut Scratch) {
        let mut key = scratch.take_numbers();
        let value = match Self::read_key(&self.slots, x, &mut key) {
            true => self.groups.find(&key).map_or_else(|| self.fresh.get(), |statistic| statistic.get()),
            false => f64::NAN,
        };
        scratch.give_numbers(key);
        out.plain(1)[0] = value;
        if value.is_nan() {
            out.with_kinds(std::iter::once(FeatureKind::Number));
        }
    }

    fn learn(&mut self, x: Row<'_>, y: Truth, w: f64, _: &mut Scratch) -> Result<()> {
        self.groups.mark();
        let Some(number) = self.subject(x, y)? else { return Ok(()) };
        let time = self.number(x, self.time_slot, self.time.as_ref())?;
        if time.is_none() && self.fresh.takes_time() {
            let name = self.time.as_ref().map(Name::to_string).unwrap_or_default();
            return Err(Fault::value(format!("{}: the time of a row is missing (feature {name})", self.who)));
        }
        let Aggregate { slots, groups, fresh, key, capacity, who, .. } = self;
        if !Self::read_key(slots, x, key) {
            return Ok(());
        }
        let statistic = groups.learn(key, || fresh.duplicate()).ok_or_else(|| capacity.refusal(who))?;
        let learned = match time {
            Some(time) => statistic.update_at(number, 0.0, w, time),
            None => statistic.update(number, 0.0, w),
        };
        learned.map_err(|fault| {
            self.groups.undo();
            fault.by(self.who)
        })
    }

    fn learn_and_transform(
        &mut self,
        x: Row<'_>,
        y: Truth,
        w: f64,
        out: &mut RowBuffer,
        scratch: &mut Scratch,
    ) -> Result<()> {
        // A learner must not see the target of a row in its features.
        if self.on.is_none() {
            self.transform(x, out, scratch);
            return self.learn(x, y, w, scratch);
        }
        self.learn(x, y, w, scratch)?;
        self.transform(x, out, scratch);
        Ok(())
    }

    fn undo(&mut self) {
        self.groups.undo();
    }

    fn fixed_output(&self) -> Option<&Schema> {
        Some(&self.output)
    }

    fn output(&self, _input: &Schema) -> Schema {
        self.output.clone()
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

    #[test]
    fn means_of_two_groups_by_hand() {
        let description = json!({ "name": AGG_NAME, "parameters": {
            "on": "revenue", "by": ["place"], "how": "stats.Mean", "max_keys": 2, "when_full": "evict"
        } });
        let Built::Transformer(mut agg) =
            registry::build_resolved(&registry::resolve(&description).unwrap()).unwrap()
        else {
            panic!()
        };
        let mut schema = Schema::default();
        schema.push(&"place".into(), Nominal);
        schema.push(&"revenue".into(), Number);
        agg.bind(&schema);
        assert_eq!(agg.output(&schema).name(0).text(), "revenue_mean_by_place");
        let (mut scratch, mut out) = (Scratch::default(), RowBuffer::default());
        let kinds = [Nominal, Number];
        let mut learn = |agg: &mut Box<dyn Transformer>, place: f64, revenue: f64| {
            agg.learn_and_transform(
                Row::Mixed(&[place, revenue], &kinds),
                Truth::None,
                1.0,
                &mut out,
                &mut scratch,
            )
            .unwrap();
            out.row().key(0)
        };
        let means = [(0.0, 42.0), (1.0, 16.0), (1.0, 24.0), (0.0, 58.0)];
        assert_eq!(means.map(|(place, revenue)| learn(&mut agg, place, revenue)), [42.0, 16.0, 20.0, 50.0]);
        let before = agg.save().unwrap();
        // A third place replaces place 1, which was seen before place 0.
        assert_eq!(learn(&mut agg, 2.0, 5.0), 5.0);
        agg.undo();
        assert_eq!(agg.save().unwrap(), before);
        assert_eq!(learn(&mut agg, 1.0, 2.0), 14.0);
    }
}
