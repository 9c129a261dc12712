//! Functions of several inputs, and the transformer that writes them.
//!
//! With `combine="tensor"` there is a product for each choice of one function of every input, the first input's
//! running fastest. With "additive" there is 1, and then of each input its functions but the constant. Either way ψ of
//! the whole follows from ψ of the inputs: products of orthonormal functions are orthonormal, and functions of different
//! inputs that are orthogonal to 1 are orthogonal to each other.
//!
//! The number of inputs is that of the bounds, or of the first row that is learned, and stays: Ω is fixed. An input that
//! is missing, nominal or (unless `outside` says otherwise) out of bounds is refused, in predicting too (`check`).

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{json, Value as Json};

use crate::fault::{Fault, Result};
use crate::parameter::Arguments;
use crate::role::{Part, Transformer};
use crate::row::{finite, Row, RowBuffer, Scratch, Value};
use crate::schema::{Kind as FeatureKind, Name, Schema};
use crate::state::{pack, require, unpack};

use super::axis::Axis;
use super::parameters::{self, Combine, Outside, Region, MOST_FUNCTIONS, MOST_IN_TRIANGLE};
use super::structure::Structure;

#[derive(Clone)]
pub struct Basis {
    who: String,
    /// One for each input, or one for all.
    axes: Arc<Vec<Axis>>,
    /// How many inputs there must be, where the bounds say it.
    fixed: Option<usize>,
    combine: Combine,
    outside: Outside,
    orthonormal: bool,
    /// What the inputs are called, for messages.
    names: Vec<String>,
    state: State,
    undo: State,
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct State {
    /// How many inputs there are; 0 before anything is learned.
    inputs: u32,
}

impl Basis {
    /// A basis whose structure on given bounds is made by `make`.
    pub fn new(arguments: &Arguments<'_>, make: &dyn Fn(f64, f64) -> Result<Box<dyn Structure>>) -> Result<Self> {
        let (combine, outside) = (parameters::combine(arguments)?, parameters::outside(arguments)?);
        let region = Region::new(arguments)?;
        let pairs = match &region {
            Region::All(low, high) => vec![(*low, *high)],
            Region::Each(pairs) => pairs.clone(),
        };
        let axis = |&(low, high): &(f64, f64)| Axis::new(arguments.who, low, high, make(low, high)?, combine);
        let axes = pairs.iter().map(axis).collect::<Result<Vec<_>>>()?;
        let basis = Basis {
            who: arguments.who.into(),
            axes: Arc::new(axes),
            fixed: region.inputs(),
            combine,
            outside,
            orthonormal: false,
            names: Vec::new(),
            state: State::default(),
            undo: State::default(),
        };
        basis.size(region.inputs().unwrap_or(1))?;
        Ok(basis)
    }

    fn axis(&self, input: usize) -> &Axis {
        &self.axes[if self.fixed.is_some() { input } else { 0 }]
    }

    /// The number of functions of so many inputs.
    fn size(&self, inputs: usize) -> Result<usize> {
        let sizes = (0..inputs).map(|input| self.axis(input).size());
        let size = match self.combine {
            Combine::Tensor => sizes.fold(1usize, |product, size| product.saturating_mul(size)),
            Combine::Additive => sizes.fold(1usize, |sum, size| sum.saturating_add(size - 1)),
        };
        if size <= MOST_FUNCTIONS {
            return Ok(size);
        }
        let remedy = match self.combine {
            Combine::Tensor => "take fewer inputs, a lower order, or combine=\"additive\"",
            Combine::Additive => "take fewer inputs or a lower order",
        };
        Err(Fault::value(format!(
            "{}: {inputs} inputs would make {} functions, more than {MOST_FUNCTIONS}; {remedy}",
            self.who,
            if size == usize::MAX { "more than can be counted".into() } else { size.to_string() },
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

    /// Refuse a row that is not within Ω.
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
                "{}: the functions are of {inputs} input{}, got {} besides; its region is fixed: select the inputs \
                 before it (compose.Select)",
                self.who,
                if inputs == 1 { "" } else { "s" },
                self.called(inputs),
            )));
        }
        for input in 0..inputs {
            let fault = match x.get(input) {
                Some(Value::Number(number)) => {
                    let Axis { low, high, .. } = *self.axis(input);
                    if self.outside != Outside::Refuse || (low <= number && number <= high) {
                        continue;
                    }
                    format!(
                        "{} must be within the bounds [{low}, {high}], got {number} \
                         (outside=\"clamp\" or \"extrapolate\" takes it)",
                        self.called(input)
                    )
                }
                Some(Value::Nominal(_)) => {
                    format!("{} must be a number, got a nominal value; encode it before", self.called(input))
                }
                None => format!("{} is missing; put a preprocessing.Imputer before it", self.called(input)),
            };
            return Err(Fault::value(format!("{}: {fault}", self.who)));
        }
        Ok(())
    }

    #[inline]
    fn contains(&self, values: &[f64]) -> bool {
        match self.fixed {
            None => {
                let Axis { low, high, .. } = self.axes[0];
                values.iter().all(|&value| low <= value && value <= high)
            }
            Some(_) => values.iter().zip(&*self.axes).all(|(&x, axis)| axis.low <= x && x <= axis.high),
        }
    }

    /// Where an input is taken to be.
    #[inline]
    fn place(&self, axis: &Axis, value: f64) -> f64 {
        match self.outside {
            Outside::Extrapolate => value,
            // Two comparisons, in which NaN ends at a bound.
            _ => value.max(axis.low).min(axis.high),
        }
    }

    #[inline]
    fn write_axis(&self, axis: &Axis, value: f64, out: &mut [f64]) {
        let x = self.place(axis, value);
        match self.orthonormal {
            true => axis.write_orthonormal(x, out),
            false => axis.write(x, out),
        }
    }

    fn write(&self, x: &[f64], out: &mut [f64], scratch: &mut Scratch) {
        if let [value] = x {
            self.write_axis(self.axis(0), *value, out);
        } else {
            let mut one = scratch.take_numbers();
            match self.combine {
                Combine::Tensor => self.write_products(x, out, &mut one),
                Combine::Additive => self.write_sum(x, out, &mut one),
            }
            scratch.give_numbers(one);
        }
        if self.outside == Outside::Extrapolate {
            out.iter_mut().for_each(|out| *out = finite(*out));
        }
    }

    fn write_products(&self, x: &[f64], out: &mut [f64], one: &mut Vec<f64>) {
        let mut written = 1;
        if let Some(first) = out.first_mut() {
            *first = 1.0;
        }
        for (input, &value) in x.iter().enumerate() {
            let axis = self.axis(input);
            one.clear();
            one.resize(axis.size(), 0.0);
            self.write_axis(axis, value, one);
            let (before, rest) = out.split_at_mut(written);
            for (factor, block) in one[1..].iter().zip(rest.chunks_exact_mut(written)) {
                block.iter_mut().zip(&*before).for_each(|(out, before)| *out = factor * before);
            }
            before.iter_mut().for_each(|out| *out *= one[0]);
            written *= axis.size();
        }
    }

    fn write_sum(&self, x: &[f64], out: &mut [f64], one: &mut Vec<f64>) {
        let volume: f64 = (0..x.len()).map(|input| self.axis(input).width()).product();
        let mut written = 1;
        out[0] = if self.orthonormal { 1.0 / volume.sqrt() } else { 1.0 };
        for (input, &value) in x.iter().enumerate() {
            let axis = self.axis(input);
            one.clear();
            one.resize(axis.size(), 0.0);
            self.write_axis(axis, value, one);
            let scale = if self.orthonormal { (axis.width() / volume).sqrt() } else { 1.0 };
            let block = &mut out[written..written + one.len() - 1];
            block.iter_mut().zip(&one[1..]).for_each(|(out, psi)| *out = scale * psi);
            written += block.len();
        }
    }

    fn function_names(&self, inputs: &[String]) -> Vec<String> {
        match self.combine {
            Combine::Tensor => {
                let mut names = vec![String::from("1")];
                for (input, called) in inputs.iter().enumerate() {
                    let axis = self.axis(input);
                    let own: Vec<String> = (0..axis.size()).map(|place| axis.name(place, called)).collect();
                    names = own.iter().flat_map(|own| names.iter().map(move |name| product(name, own))).collect();
                }
                names
            }
            Combine::Additive => {
                let mut names = vec![String::from("1")];
                for (input, called) in inputs.iter().enumerate() {
                    let axis = self.axis(input);
                    names.extend((1..axis.size()).map(|place| axis.name(place, called)));
                }
                names
            }
        }
    }
}

fn product(a: &str, b: &str) -> String {
    match (a, b) {
        ("1", other) | (other, "1") => other.into(),
        _ => format!("{a}*{b}"),
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
        std::mem::size_of::<Self>() + self.axes.iter().map(Axis::memory).sum::<usize>()
    }

    fn needs_names(&self) -> bool {
        true
    }

    fn bind(&mut self, schema: &Schema) {
        self.names = schema.names().map(|name| name.to_string()).collect();
    }

    fn checks(&self) -> bool {
        true
    }

    fn check(&self, x: Row<'_>, _: &mut Scratch) -> Result<()> {
        // Before anything is learned a row has no features that are known.
        if x.width() == 0 && self.state.inputs == 0 {
            return Ok(());
        }
        self.examine(x)
    }

    fn inspect(&self, schema: &Schema) -> Json {
        let bounds = |input: usize| json!([self.axis(input).low, self.axis(input).high]);
        let features: serde_json::Map<_, _> = (0..self.inputs(schema.len()).min(schema.len()))
            .map(|input| (schema.name(input).text(), bounds(input)))
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
                    // Refused by `check`; where nobody asked, the middle does least harm.
                    _ => 0.5 * self.axis(input).low + 0.5 * self.axis(input).high,
                }));
                self.write(&values, out, scratch);
                scratch.give_numbers(values);
            }
        }
    }

    fn learn(&mut self, x: Row<'_>, _w: f64, _: &mut Scratch) -> Result<()> {
        self.undo = self.state;
        if self.state.inputs == 0 {
            if x.width() == 0 {
                return Err(Fault::value(format!("{}: there is no input", self.who)));
            }
            self.size(self.inputs(x.width()))?;
        }
        self.examine(x)?;
        self.state.inputs = self.inputs(x.width()) as u32;
        Ok(())
    }

    fn is_fixed(&self) -> bool {
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
            for name in self.function_names(&names) {
                schema.push_unique(Name::Text(name.into()), FeatureKind::Number);
            }
        }
        schema.mark();
        schema
    }

    fn become_orthonormal(&mut self) -> bool {
        self.orthonormal = true;
        true
    }

    fn transition(&self) -> Result<Option<Vec<f64>>> {
        let inputs = self.inputs(0);
        if !self.orthonormal || inputs == 0 {
            return Ok(None);
        }
        let size = self.size(inputs)?;
        if size > MOST_IN_TRIANGLE {
            return Err(Fault::value(format!(
                "{}: the coefficients of {size} functions can be shown for up to {MOST_IN_TRIANGLE}",
                self.who
            )));
        }
        let triangles: Vec<Vec<f64>> = (0..inputs).map(|input| self.axis(input).transition()).collect();
        Ok(Some(match self.combine {
            Combine::Tensor => triangles.iter().fold(vec![1.0], |whole, own| kronecker(own, &whole)),
            Combine::Additive => self.sum_transition(&triangles, size),
        }))
    }

    fn duplicate(&self) -> Box<dyn Transformer> {
        Box::new(self.clone())
    }
}

impl Basis {
    fn sum_transition(&self, triangles: &[Vec<f64>], size: usize) -> Vec<f64> {
        let volume: f64 = (0..triangles.len()).map(|input| self.axis(input).width()).product();
        let mut whole = vec![0.0; size * (size + 1) / 2];
        whole[0] = 1.0 / volume.sqrt();
        let mut first = 1;
        for (input, own) in triangles.iter().enumerate() {
            let scale = (self.axis(input).width() / volume).sqrt();
            for i in 1..self.axis(input).size() {
                let (row, place) = (first + i - 1, i * (i + 1) / 2);
                let start = row * (row + 1) / 2;
                whole[start] = scale * own[place];
                for j in 1..=i {
                    whole[start + first + j - 1] = scale * own[place + j];
                }
            }
            first += self.axis(input).size() - 1;
        }
        whole
    }
}

/// The Kronecker product of two lower triangles, `b` running faster.
fn kronecker(a: &[f64], b: &[f64]) -> Vec<f64> {
    let rows = |triangle: &[f64]| ((1.0 + 8.0 * triangle.len() as f64).sqrt() as usize - 1) / 2;
    let (n, m) = (rows(a), rows(b));
    let size = n * m;
    let mut whole = vec![0.0; size * (size + 1) / 2];
    for (i, k) in (0..n).flat_map(|i| (0..=i).map(move |k| (i, k))) {
        let factor = a[i * (i + 1) / 2 + k];
        for (j, l) in (0..m).flat_map(|j| (0..=j).map(move |l| (j, l))) {
            let (row, column) = (i * m + j, k * m + l);
            whole[row * (row + 1) / 2 + column] = factor * b[j * (j + 1) / 2 + l];
        }
    }
    whole
}
