//! Whole or nothing, for the parts of the core: whatever sequence of good and bad examples arrives, a refused
//! one leaves the saved bytes as they were; whatever bytes arrive, they are read or refused.

use millstream_core::declaration::Role;
use millstream_core::draft::{Draft, Given};
use millstream_core::held::{state, Model};
use millstream_core::labels::{Label, Labels};
use millstream_core::registry::DECLARATIONS;
use millstream_core::row::{Row, RowBuffer, Scratch, Want};
use millstream_core::schema::{FeatureKind, Name, Schema};
use millstream_core::task::{Answer, Target};
use proptest::prelude::*;
use serde_json::{json, Value};

/// Failing cases are printed, not written beside the source.
fn quick(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

// Schema and labels.

#[derive(Clone, Debug)]
enum Change {
    Intern(Name),
    Kind(usize, FeatureKind),
    Value(usize, String),
    Widen(usize),
}

fn name() -> impl Strategy<Value = Name> {
    prop_oneof![(-2i64..6).prop_map(Name::Number), "[a-d]".prop_map(|text| Name::Text(text.as_str().into()))]
}

fn change() -> impl Strategy<Value = Change> {
    let kind = prop_oneof![Just(FeatureKind::Unknown), Just(FeatureKind::Number), Just(FeatureKind::Nominal)];
    prop_oneof![
        name().prop_map(Change::Intern),
        (0usize..8, kind).prop_map(|(slot, kind)| Change::Kind(slot, kind)),
        (0usize..8, "[x-z]").prop_map(|(slot, text)| Change::Value(slot, text)),
        (0usize..9).prop_map(Change::Widen),
    ]
}

/// Make a change that callers could make.
fn apply(schema: &mut Schema, change: &Change) {
    match change {
        Change::Intern(name) => drop(schema.intern(name)),
        Change::Kind(slot, kind) if *slot < schema.len() => schema.set_kind(*slot as u32, *kind),
        Change::Value(slot, text) if schema.kinds().get(*slot) == Some(&FeatureKind::Nominal) => {
            schema.intern_value(*slot as u32, text);
        }
        Change::Widen(width) if schema.only_numbered() => schema.widen(*width),
        _ => {}
    }
}

proptest! {
    #![proptest_config(quick(256))]

    #[test]
    fn a_schema_rolls_back_to_where_it_was(
        before in prop::collection::vec(change(), 0..20),
        after in prop::collection::vec(change(), 0..20),
    ) {
        let mut schema = Schema::default();
        for change in &before {
            apply(&mut schema, change);
        }
        schema.mark();
        let saved = state::pack(&schema).unwrap();
        let numbers = schema.all_numbers();
        for change in &after {
            apply(&mut schema, change);
        }
        schema.rollback();
        prop_assert!(state::pack(&schema).unwrap() == saved);
        prop_assert_eq!(schema.all_numbers(), numbers);
        for slot in 0..schema.len() {
            prop_assert_eq!(schema.slot(&schema.name(slot)), Some(slot as u32));
        }
        // Making the same changes again gives the same as making them once.
        let mut once: Schema = state::unpack("schema", &saved).unwrap();
        for change in &after {
            apply(&mut schema, change);
            apply(&mut once, change);
        }
        prop_assert_eq!(state::pack(&schema).unwrap(), state::pack(&once).unwrap());
    }

    #[test]
    fn labels_roll_back_to_where_they_were(
        arrivals in prop::collection::vec((0i64..4, any::<bool>(), any::<bool>()), 0..20),
    ) {
        let mut labels = Labels::default();
        for (number, as_flag, refused) in arrivals {
            let label = if as_flag && number < 2 { Label::Bool(number == 1) } else { Label::Int(number) };
            let before = state::pack(&labels).unwrap();
            let mark = labels.mark();
            let code = labels.intern(&label);
            prop_assert_eq!(labels.code(&label), Some(code));
            if refused {
                labels.rollback(mark, code);
                prop_assert_eq!(state::pack(&labels).unwrap(), before);
            }
            let saved = state::pack(&labels).unwrap();
            let read: Labels = state::unpack("labels", &saved).unwrap();
            prop_assert_eq!(state::pack(&read).unwrap(), saved);
        }
    }
}

// Models.

#[derive(Clone, Debug)]
enum Offered {
    Missing,
    Number(f64),
    Text(String),
}

impl Offered {
    fn given(&self) -> Given<'_> {
        match self {
            Offered::Missing => Given::Missing,
            Offered::Number(number) => Given::Number(*number),
            Offered::Text(text) => Given::Text(text),
        }
    }
}

#[derive(Clone, Debug)]
struct Example {
    x: Vec<(Name, Offered)>,
    y: f64,
    w: f64,
}

/// Components of counts, which refuse to transform negative numbers.
const COUNTS: [&str; 2] = ["decomposition.LDA", "decomposition.NMF"];

impl Example {
    fn has_negative(&self) -> bool {
        self.x.iter().any(|(_, value)| matches!(value, Offered::Number(number) if *number < 0.0))
    }
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        8 => -3.0..3.0f64,
        1 => Just(1e308),
        1 => Just(-1e308),
        1 => Just(f64::MIN_POSITIVE),
        1 => Just(0.0),
        1 => Just(f64::INFINITY),
    ]
}

fn example() -> impl Strategy<Value = Example> {
    let value = prop_oneof![
        4 => number().prop_map(Offered::Number),
        1 => "[p-r]".prop_map(Offered::Text),
        1 => Just(Offered::Missing),
    ];
    let x = prop::collection::btree_map(name(), value, 0..6);
    let w = prop_oneof![6 => Just(1.0), 1 => Just(0.0), 1 => Just(-1.0), 1 => Just(1e300), 1 => Just(f64::NAN)];
    (x, number(), w).prop_map(|(x, y, w)| Example { x: x.into_iter().collect(), y, w })
}

/// Read an example into a draft as the border does; false if it is refused there.
fn drafted(draft: &mut Draft, schema: &Schema, example: &Example) -> bool {
    draft.begin(schema, false);
    example.x.iter().all(|(name, value)| match schema.slot(name) {
        Some(slot) => draft.set(schema, slot, value.given()).is_ok(),
        None => draft.add(name.clone(), value.given()).is_ok(),
    })
}

/// Every model that needs no arguments, and some that are made of others.
fn descriptions() -> Vec<Value> {
    let learns = |role: Role| Role::STEPS.contains(&role);
    let mut all: Vec<Value> = DECLARATIONS
        .iter()
        .filter(|declaration| learns(declaration.role))
        .map(|declaration| json!({ "name": declaration.name }))
        .collect();
    let scaler = json!({ "name": "preprocessing.StandardScaler" });
    let logistic = json!({ "name": "linear_model.LogisticRegression" });
    let encoder = json!({ "name": "preprocessing.OneHotEncoder" });
    let scorer =
        json!({ "name": "anomaly.GaussianScorer", "parameters": { "grace_period": 2, "window_size": 3 } });
    let filter = json!({ "name": "anomaly.QuantileFilter", "parameters": { "model": scorer, "q": 0.5 } });
    let trees = json!({ "name": "anomaly.HalfSpaceTrees", "parameters": { "window_size": 3, "height": 3 } });
    let centres = json!({ "name": "cluster.KMeans", "parameters": { "n_clusters": 2, "init_size": 3 } });
    let batches = json!({ "name": "cluster.MiniBatchKMeans", "parameters": { "n_clusters": 2, "init_size": 2, "batch_size": 2 } });
    all.extend([centres.clone(), batches.clone()]);
    for steps in [
        json!([scaler, centres]),
        json!([encoder, batches]),
        json!([scaler, logistic]),
        json!([scaler, encoder, scaler, logistic]),
        json!([encoder, scaler]),
        json!([scaler, filter, logistic]),
        json!([filter, encoder, scaler, trees]),
        json!([scaler, filter]),
    ] {
        all.push(json!({ "name": "compose.Pipeline", "parameters": { "steps": steps } }));
    }
    all
}

fn all_finite(row: Row<'_>) -> bool {
    let mut finite = true;
    row.each(|_, value| {
        if let millstream_core::row::Value::Number(number) = value {
            finite &= number.is_finite();
        }
    });
    finite
}

fn hold_to_the_laws(description: &Value, examples: &[Example]) -> Result<(), TestCaseError> {
    let Ok(mut model) = Model::new(description) else { return Ok(()) };
    let (mut draft, mut scratch, mut answer) = (Draft::default(), Scratch::default(), Answer::default());
    for (row, example) in examples.iter().enumerate() {
        let before = model.save().unwrap();
        if !drafted(&mut draft, model.schema(), example) {
            prop_assert!(model.save().unwrap() == before);
            continue;
        }
        if model.role() == Role::Transformer {
            let mut out = RowBuffer::default();
            let transformed = model.transform(&mut draft, &mut out, &mut scratch);
            if COUNTS.contains(&model.title()) && example.has_negative() {
                prop_assert!(model.save().unwrap() == before);
                continue;
            }
            transformed.unwrap();
            prop_assert!(all_finite(out.row()), "{}: a transformed row is not finite", model.title());
        } else {
            model.predict(&mut draft, Want::Probabilities, &mut answer, &mut scratch).unwrap();
            prop_assert!(answer.number.is_finite());
            prop_assert!(answer.class.probabilities.iter().all(|p| p.is_finite()));
        }
        prop_assert!(model.save().unwrap() == before, "{} changed while predicting", model.title());
        let label = Label::Int(i64::from(example.y > 0.0));
        let target = match model.role() {
            Role::Classifier => Target::Class(&label),
            Role::Regressor => Target::Number(example.y),
            _ => Target::None,
        };
        let learned = match row % 2 {
            0 => model.learn(&mut draft, target, example.w, &mut scratch),
            _ if model.role() == Role::Transformer => model.learn(&mut draft, target, example.w, &mut scratch),
            _ => model.step(&mut draft, target, example.w, Want::Class, &mut answer, &mut scratch),
        };
        let after = model.save().unwrap();
        if learned.is_err() || example.w == 0.0 {
            prop_assert!(after == before, "{} kept something of an example it refused", model.title());
        }
        let loaded = Model::load(&after).map_err(|fault| TestCaseError::fail(fault.to_string()))?;
        prop_assert!(loaded.save().unwrap() == after, "{} loads as another", model.title());
    }
    Ok(())
}

proptest! {
    #![proptest_config(quick(96))]

    #[test]
    fn a_refused_example_leaves_no_trace(examples in prop::collection::vec(example(), 1..14)) {
        for description in descriptions() {
            hold_to_the_laws(&description, &examples)?;
        }
    }

    /// A model that met refusals goes on as one that never met them.
    #[test]
    fn refusals_change_nothing_of_what_follows(examples in prop::collection::vec(example(), 1..14)) {
        for description in descriptions() {
            let Ok(mut model) = Model::new(&description) else { continue };
            if model.role() != Role::Classifier {
                continue;
            }
            let (mut draft, mut scratch) = (Draft::default(), Scratch::default());
            let mut learn = |model: &mut Model, example: &Example| {
                let label = Label::Int(i64::from(example.y > 0.0));
                drafted(&mut draft, model.schema(), example)
                    && model.learn(&mut draft, Target::Class(&label), example.w, &mut scratch).is_ok()
            };
            let good: Vec<&Example> = examples.iter().filter(|example| learn(&mut model, example)).collect();
            let mut clean = Model::new(&description).unwrap();
            for example in good {
                prop_assert!(learn(&mut clean, example));
            }
            prop_assert!(model.save().unwrap() == clean.save().unwrap(), "{}", model.title());
        }
    }
}

// Bytes.

proptest! {
    #![proptest_config(quick(256))]

    #[test]
    fn random_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(state::open(&bytes).is_err());
        prop_assert!(Model::load(&bytes).is_err());
    }

    #[test]
    fn a_changed_state_is_refused_or_works(
        examples in prop::collection::vec(example(), 1..6),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        which in any::<prop::sample::Index>(),
    ) {
        let all = descriptions();
        let Ok(mut model) = Model::new(which.get(&all)) else { return Ok(()) };
        let (mut draft, mut scratch, mut answer) = (Draft::default(), Scratch::default(), Answer::default());
        let label = Label::Bool(true);
        let target = |model: &Model| match model.role() {
            Role::Classifier => Target::Class(&label),
            Role::Regressor => Target::Number(1.0),
            _ => Target::None,
        };
        for example in &examples {
            if drafted(&mut draft, model.schema(), example) {
                let target = target(&model);
                let _ = model.learn(&mut draft, target, 1.0, &mut scratch);
            }
        }
        let mut saved = state::open(&model.save().unwrap()).unwrap();
        for (place, byte) in changes {
            let place = place.index(saved.state.len());
            saved.state[place] = byte;
        }
        if model.adopt(saved).is_ok() {
            for example in &examples {
                if drafted(&mut draft, model.schema(), example) {
                    if model.role() == Role::Transformer {
                        let _ = model.transform(&mut draft, &mut RowBuffer::default(), &mut scratch);
                    } else {
                        let _ = model.predict(&mut draft, Want::Probabilities, &mut answer, &mut scratch);
                    }
                    let target = target(&model);
                    let _ = model.learn(&mut draft, target, 1.0, &mut scratch);
                }
            }
            let _ = model.inspect();
            prop_assert!(model.save().is_ok());
        }
    }
}
