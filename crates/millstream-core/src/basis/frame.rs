//! The transformer that evaluates the functions of a basis and checks its domain.
//!
//! The number of inputs is that of the bounds or of the first learned row and does not change: Ω is fixed. Missing and
//! nominal inputs, and values out of bounds (unless `outside` allows them), are rejected in predicting too (`check`).

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::fault::{Fault, Result, Shown};
use crate::held::state::{pack, require, unpack};
use crate::merging::Merger;
use crate::parameter::Arguments;
use crate::part::{Abilities, Part};
use crate::row::{finite, Row, RowBuffer, Scratch, Value};
use crate::schema::{FeatureKind, Name, Schema};
use crate::task::Truth;
use crate::transformer::{BasisFunctions, Transformer};

use super::axis::Axis;
use super::cloud::Cloud;
use super::functions::Functions;
use super::parameters::{self, Combine, Outside, Region, MOST_FUNCTIONS, MOST_IN_TRIANGLE};
use super::structure::Structure;

#[derive(Clone)]
pub struct Basis {
    who: String,
    bounds: Region,
    functions: Functions,
    /// Required number of inputs, if known from the start.
    fixed: Option<usize>,
    outside: Outside,
    orthonormal: bool,
    /// The names of the inputs, for messages.
    names: Vec<String>,
    state: State,
    undo: State,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct State {
    /// Number of inputs; 0 before the first example.
    inputs: u32,
}

impl Basis {
    /// A basis whose structure on given bounds is made by `make`.
    pub fn new(arguments: &Arguments<'_>, make: &dyn Fn(f64, f64) -> Result<Box<dyn Structure>>) -> Result<Self> {
        let (combine, bounds) = (parameters::combine(arguments)?, Region::new(arguments)?);
        let axis = |&(low, high): &(f64, f64)| Axis::new(arguments.who, low, high, make(low, high)?, combine);
        let axes = bounds.pairs().iter().map(axis).collect::<Result<Vec<_>>>()?;
        let fixed = bounds.inputs();
        let basis = Self::of(arguments, bounds, Functions::Axes(Arc::new(axes), combine), fixed)?;
        basis.size(fixed.unwrap_or(1))?;
        Ok(basis)
    }

    /// A basis of functions of all inputs together.
    pub fn around(
        arguments: &Arguments<'_>,
        inputs: usize,
        make: &dyn Fn(&[(f64, f64)]) -> Result<Cloud>,
    ) -> Result<Self> {
        let bounds = match Region::new(arguments)? {
            Region::All(low, high) => Region::Each(vec![(low, high); inputs]),
            each => each,
        };
        let pairs = bounds.pairs();
        if pairs.len() != inputs {
            return Err(Fault::value(format!(
                "{}: centres must have {} numbers, as many as there are bounds, got {inputs}",
                arguments.who,
                pairs.len()
            )));
        }
        let cloud = make(&pairs)?;
        Self::of(arguments, bounds, Functions::Cloud(Arc::new(cloud)), Some(inputs))
    }

    fn of(arguments: &Arguments<'_>, bounds: Region, functions: Functions, fixed: Option<usize>) -> Result<Self> {
        Ok(Basis {
            who: arguments.who.into(),
            bounds,
            functions,
            fixed,
            outside: parameters::outside(arguments)?,
            orthonormal: false,
            names: Vec::new(),
            state: State::default(),
            undo: State::default(),
        })
    }

    #[inline]
    fn pair(&self, input: usize) -> (f64, f64) {
        match &self.bounds {
            Region::All(low, high) => (*low, *high),
            Region::Each(pairs) => pairs[input],
        }
    }

    /// The number of functions of this many inputs.
    fn size(&self, inputs: usize) -> Result<usize> {
        // A row may be as wide as a hash is.
        let size = if inputs <= MOST_FUNCTIONS { self.functions.size(inputs) } else { usize::MAX };
        if size <= MOST_FUNCTIONS {
            return Ok(size);
        }
        let remedy = match self.functions {
            Functions::Axes(_, Combine::Tensor) => "use fewer inputs, a lower order, or combine=\"additive\"",
            _ => "use fewer inputs or a lower order",
        };
        Err(Fault::value(format!(
            "{}: {inputs} inputs would make {} functions, more than {MOST_FUNCTIONS}; {remedy}",
            self.who,
            if size == usize::MAX { "too many".into() } else { size.to_string() },
        )))
    }

    /// The number of inputs of a row to transform, whatever was learned.
    fn inputs(&self, width: usize) -> usize {
        match (self.state.inputs, self.fixed) {
            (0, None) => width,
            (0, Some(fixed)) => fixed,
            (learned, _) => learned as usize,
        }
    }

    fn called(&self, input: usize) -> String {
        self.names.get(input).cloned().unwrap_or_else(|| format!("input {input}"))
    }

    /// Reject a row outside Ω.
    fn examine(&self, x: Row<'_>) -> Result<()> {
        let width = x.width();
        if let Row::Plain(values) = x {
            if self.inputs(width) == width && (self.outside != Outside::Refuse || self.contains(values)) {
                return Ok(());
            }
        }
        let inputs = self.inputs(width);
        if width > inputs {
            return Err(Fault::value(format!(
                "{}: the functions have {inputs} input{}, got also {}; the domain is fixed: select the inputs first \
                 (compose.Select)",
                self.who,
                if inputs == 1 { "" } else { "s" },
                self.called(inputs),
            )));
        }
        for input in 0..inputs {
            let fault = match x.get(input) {
                Some(Value::Number(number)) => {
                    let (low, high) = self.pair(input);
                    if self.outside != Outside::Refuse || (low <= number && number <= high) {
                        continue;
                    }
                    format!(
                        "{} must be within the bounds [{}, {}], got {} (outside=\"clamp\" or \"extrapolate\" accepts it)",
                        self.called(input),
                        Shown(low),
                        Shown(high),
                        Shown(number)
                    )
                }
                Some(Value::Nominal(_)) => {
                    format!("{} must be a number, got a nominal value; encode it first", self.called(input))
                }
                None => format!("{} is missing; put a preprocessing.Imputer in front", self.called(input)),
            };
            return Err(Fault::value(format!("{}: {fault}", self.who)));
        }
        Ok(())
    }

    #[inline]
    fn contains(&self, values: &[f64]) -> bool {
        match &self.bounds {
            Region::All(low, high) => values.iter().all(|value| low <= value && value <= high),
            Region::Each(pairs) => values.iter().zip(pairs).all(|(x, (low, high))| low <= x && x <= high),
        }
    }

    /// The position of an input, after `outside`.
    #[inline]
    fn clamped(&self, input: usize, value: f64) -> f64 {
        if self.outside == Outside::Extrapolate {
            return value;
        }
        let (low, high) = self.pair(input);
        // Two comparisons, in which NaN ends at a bound.
        value.max(low).min(high)
    }

    fn write(&self, values: &[f64], out: &mut [f64], scratch: &mut Scratch) {
        let alone = match values {
            [value] => self.functions.write_one(self.clamped(0, *value), self.orthonormal, out),
            _ => false,
        };
        if !alone {
            let (mut x, mut one) = (scratch.take_numbers(), scratch.take_numbers());
            x.extend(values.iter().enumerate().map(|(input, &value)| self.clamped(input, value)));
            self.functions.write(&x, self.orthonormal, out, &mut one);
            scratch.give_numbers(x);
            scratch.give_numbers(one);
        }
        if self.outside == Outside::Extrapolate {
            out.iter_mut().for_each(|out| *out = finite(*out));
        }
    }

    /// Refuse what would take a matrix of more than the functions that are shown.
    fn refuse_wide(&self, size: usize) -> Result<()> {
        match size <= MOST_IN_TRIANGLE {
            true => Ok(()),
            false => Err(Fault::value(format!(
                "{}: the matrix supports up to {MOST_IN_TRIANGLE} functions, got {size}",
                self.who
            ))),
        }
    }
}

/// What an input is called in the names of functions: a column without a name is x and its number.
fn input_name(name: &Name) -> String {
    match name {
        Name::Number(number) => format!("x{number}"),
        Name::Text(text) => text.to_string(),
    }
}

impl Part for Basis {
    /// Its functions follow from the names and the order of the first row.
    fn merge_state(&mut self, merger: &Merger<'_>) -> Result<()> {
        let mut there = self.clone();
        there.load(merger.other.state)?;
        there.bind(merger.other.schema);
        if !there.is_frozen() {
            return Ok(());
        }
        if !merger.other.is_ordered_as(merger.ours) {
            return Err(Fault::value(
                "cannot be merged: the features of the two parts differ, or came in another order, and the functions of a \
                 basis depend on that",
            ));
        }
        match self.is_frozen() {
            true => Ok(()),
            false => self.load(merger.other.state),
        }
    }

    fn save(&self) -> Result<Vec<u8>> {
        pack(&self.state)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<()> {
        let state: State = unpack(&self.who, bytes)?;
        let inputs = state.inputs as usize;
        let fits = inputs == 0 || self.fixed.is_none_or(|fixed| fixed == inputs);
        require(&self.who, fits && inputs <= MOST_FUNCTIONS, "a wrong number of inputs")?;
        require(&self.who, self.size(inputs).is_ok(), "too many inputs")?;
        (self.state, self.undo) = (state, state);
        Ok(())
    }

    fn memory(&self) -> usize {
        std::mem::size_of::<Self>() + self.functions.memory()
    }

    fn abilities(&self) -> Abilities {
        Abilities { needs_names: true, checks_rows: true, ..Abilities::default() }
    }

    fn bind(&mut self, schema: &Schema) {
        self.names = schema.names().map(|name| name.to_string()).collect();
    }

    fn check(&self, x: Row<'_>, _: &mut Scratch) -> Result<()> {
        // Before anything is learned a row has no features that are known.
        if x.width() == 0 && self.state.inputs == 0 {
            return Ok(());
        }
        self.examine(x)
    }

    fn inspect(&self, schema: &Schema) -> Json {
        let features: serde_json::Map<_, _> = (0..self.inputs(schema.len()).min(schema.len()))
            .map(|input| (schema.name(input).text(), json!([self.pair(input).0, self.pair(input).1])))
            .collect();
        json!({ "bounds": features, "functions": self.output(schema).len() })
    }
}

impl Transformer for Basis {
    fn transform(&self, x: Row<'_>, out: &mut RowBuffer, scratch: &mut Scratch) {
        let inputs = self.inputs(x.width());
        let Some(size) = Some(inputs).filter(|&n| n > 0).and_then(|n| self.size(n).ok()) else {
            out.plain(0);
            return;
        };
        let out = out.plain(size);
        match x {
            Row::Plain(values) if values.len() == inputs => self.write(values, out, scratch),
            _ => {
                let mut values = scratch.take_numbers();
                values.extend((0..inputs).map(|input| match x.get(input) {
                    Some(Value::Number(number)) => number,
                    // Rejected by `check`; without it, the centre of the bounds is used.
                    _ => 0.5 * self.pair(input).0 + 0.5 * self.pair(input).1,
                }));
                self.write(&values, out, scratch);
                scratch.give_numbers(values);
            }
        }
    }

    fn learn(&mut self, x: Row<'_>, _y: Truth, _w: f64, _: &mut Scratch) -> Result<()> {
        self.undo = self.state;
        if self.state.inputs == 0 {
            self.size(self.inputs(x.width()))?;
        }
        self.examine(x)?;
        self.state.inputs = self.inputs(x.width()) as u32;
        Ok(())
    }

    fn is_frozen(&self) -> bool {
        self.state.inputs > 0
    }

    fn undo(&mut self) {
        self.state = self.undo;
    }

    fn output(&self, input: &Schema) -> Schema {
        let mut schema = Schema::default();
        let inputs = self.inputs(input.len());
        if inputs > 0 && self.size(inputs).is_ok() {
            let mut names: Vec<String> = input.names().take(inputs).map(|name| input_name(&name)).collect();
            (names.len()..inputs).for_each(|missing| names.push(format!("x{missing}")));
            for name in self.functions.names(&names) {
                schema.push_unique(Name::Text(name.into()), FeatureKind::Number);
            }
        }
        schema.mark();
        schema
    }

    fn basis(&self) -> Option<&dyn BasisFunctions> {
        Some(self)
    }

    fn basis_mut(&mut self) -> Option<&mut dyn BasisFunctions> {
        Some(self)
    }

    fn duplicate(&self) -> Box<dyn Transformer> {
        Box::new(self.clone())
    }
}

impl BasisFunctions for Basis {
    fn set_orthonormal(&mut self, orthonormal: bool) {
        self.orthonormal = orthonormal;
    }

    fn change(&self) -> Result<Option<Vec<f64>>> {
        let inputs = self.inputs(0);
        if !self.orthonormal || inputs == 0 {
            return Ok(None);
        }
        self.refuse_wide(self.size(inputs)?)?;
        Ok(Some(self.functions.transition(inputs)))
    }

    fn gram(&self, inputs: Option<usize>) -> Result<Vec<f64>> {
        let known = Some(self.inputs(0)).filter(|&known| known > 0);
        let inputs = match (known, inputs) {
            (Some(known), Some(asked)) if known != asked => {
                return Err(Fault::value(format!("{}: the inputs are {known}, not {asked}", self.who)))
            }
            (Some(known), _) => known,
            (None, asked) => asked.unwrap_or(1),
        };
        if inputs == 0 {
            return Err(Fault::value(format!("{}: inputs must be 1 or more, got 0", self.who)));
        }
        self.refuse_wide(self.size(inputs)?)?;
        Ok(self.functions.gram(inputs))
    }
}
