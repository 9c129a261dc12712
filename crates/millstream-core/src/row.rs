//! One example, as learners receive it.
//!
//! A purely numeric dense row is a plain slice all the way down to the kernel; only rows that need the other
//! layouts pay for them. Buffers for rows in the middle of a pipeline come from a `Scratch`, which the caller
//! owns: nothing is allocated per example once the buffers have grown, and `predict` stays `&self`.

use crate::schema::FeatureKind;
use crate::task::ClassPrediction;

#[derive(Clone, Copy, Debug)]
pub enum Row<'a> {
    /// Every slot is a number and none is missing.
    Plain(&'a [f64]),
    /// Slots may be missing (NaN) or nominal (the value is the code; a negative one was never
    /// learned, or is a key that is not interned).
    Mixed(&'a [f64], &'a [FeatureKind]),
    /// Numbers only. Slots that are not listed are 0; indices ascend.
    Sparse(Sparse<'a>),
}

#[derive(Clone, Copy, Debug)]
pub struct Sparse<'a> {
    pub indices: &'a [u32],
    pub values: &'a [f64],
    /// One more than the highest slot a row of this stream may name.
    pub width: usize,
}

/// One feature of a row that is not missing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    Number(f64),
    /// A nominal value's code; `None` if it was never learned.
    Nominal(Option<u32>),
}

impl<'a> Row<'a> {
    /// The number of slots this row could name.
    pub fn width(&self) -> usize {
        match self {
            Row::Plain(values) | Row::Mixed(values, _) => values.len(),
            Row::Sparse(sparse) => sparse.width,
        }
    }

    /// Visit the features that are present; for a sparse row, those that are listed.
    pub fn each(&self, mut visit: impl FnMut(usize, Value)) {
        match self {
            Row::Plain(values) => {
                for (slot, &value) in values.iter().enumerate() {
                    visit(slot, Value::Number(value));
                }
            }
            Row::Mixed(values, kinds) => {
                for (slot, (&value, &kind)) in values.iter().zip(*kinds).enumerate() {
                    if value.is_nan() {
                        continue;
                    }
                    visit(slot, if kind == FeatureKind::Nominal { nominal(value) } else { Value::Number(value) });
                }
            }
            Row::Sparse(sparse) => {
                for (&slot, &value) in sparse.indices.iter().zip(sparse.values) {
                    visit(slot as usize, Value::Number(value));
                }
            }
        }
    }

    /// The value in `slot`, or `None` if it is missing. A sparse row gives 0 where nothing is listed.
    pub fn get(&self, slot: usize) -> Option<Value> {
        match self {
            Row::Plain(values) => values.get(slot).map(|&value| Value::Number(value)),
            Row::Mixed(values, kinds) => match values.get(slot) {
                Some(value) if value.is_nan() => None,
                Some(&value) if kinds[slot] == FeatureKind::Nominal => Some(nominal(value)),
                Some(&value) => Some(Value::Number(value)),
                None => None,
            },
            Row::Sparse(sparse) if slot < sparse.width => {
                Some(Value::Number(match sparse.indices.binary_search(&(slot as u32)) {
                    Ok(position) => sparse.values[position],
                    Err(_) => 0.0,
                }))
            }
            Row::Sparse(_) => None,
        }
    }

    /// The number in `slot` as it identifies a value of the feature: a code, the hash of a key, or the number itself; NaN
    /// if it is missing.
    #[inline]
    pub fn key(&self, slot: usize) -> f64 {
        match self {
            Row::Plain(values) | Row::Mixed(values, _) => values.get(slot).copied().unwrap_or(f64::NAN),
            Row::Sparse(_) => match self.get(slot) {
                Some(Value::Number(number)) => number,
                _ => f64::NAN,
            },
        }
    }

    /// The kind of the value in `slot`, if the row has that slot.
    #[inline]
    pub fn kind(&self, slot: usize) -> FeatureKind {
        match self {
            Row::Mixed(_, kinds) => kinds.get(slot).copied().unwrap_or(FeatureKind::Unknown),
            _ if slot < self.width() => FeatureKind::Number,
            _ => FeatureKind::Unknown,
        }
    }

    /// Append the row to a matrix of `width` columns: zeros are written out, and slots beyond the row are NaN.
    pub fn append_to(&self, width: usize, matrix: &mut Vec<f64>) {
        let start = matrix.len();
        match self {
            Row::Plain(numbers) | Row::Mixed(numbers, _) => matrix.extend_from_slice(numbers),
            Row::Sparse(sparse) => {
                matrix.resize(start + sparse.width, 0.0);
                for (&slot, &value) in sparse.indices.iter().zip(sparse.values) {
                    matrix[start + slot as usize] = value;
                }
            }
        }
        matrix.resize(start + width, f64::NAN);
    }

    /// The same row with explicit zeros, for learners that read every slot.
    pub fn dense<'b>(self, buffer: &'b mut Vec<f64>) -> Row<'b>
    where
        'a: 'b,
    {
        let Row::Sparse(sparse) = self else { return self };
        buffer.clear();
        buffer.resize(sparse.width, 0.0);
        for (&slot, &value) in sparse.indices.iter().zip(sparse.values) {
            buffer[slot as usize] = value;
        }
        Row::Plain(buffer)
    }
}

fn nominal(code: f64) -> Value {
    Value::Nominal((code >= 0.0).then_some(code as u32))
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Layout {
    #[default]
    Plain,
    Mixed,
    Sparse,
}

/// A row that owns its numbers: the output of a transformer, or an example read by the binding.
#[derive(Clone, Debug, Default)]
pub struct RowBuffer {
    layout: Layout,
    values: Vec<f64>,
    kinds: Vec<FeatureKind>,
    indices: Vec<u32>,
    width: usize,
}

impl RowBuffer {
    #[inline]
    pub fn row(&self) -> Row<'_> {
        match self.layout {
            Layout::Plain => Row::Plain(&self.values),
            Layout::Mixed => Row::Mixed(&self.values, &self.kinds),
            Layout::Sparse => {
                Row::Sparse(Sparse { indices: &self.indices, values: &self.values, width: self.width })
            }
        }
    }

    /// Become a plain row of `width` numbers; the caller writes every one of them.
    #[inline]
    pub fn plain(&mut self, width: usize) -> &mut [f64] {
        self.layout = Layout::Plain;
        if self.values.len() != width {
            self.values.resize(width, 0.0);
        }
        &mut self.values
    }

    /// Become a mixed row in which everything is missing, for the caller to fill.
    pub fn mixed(&mut self, width: usize) -> (&mut [f64], &mut [FeatureKind]) {
        self.layout = Layout::Mixed;
        self.values.clear();
        self.values.resize(width, f64::NAN);
        self.kinds.clear();
        self.kinds.resize(width, FeatureKind::Number);
        (&mut self.values, &mut self.kinds)
    }

    /// Become a mixed row with these kinds; the caller writes the values.
    pub fn mixed_like(&mut self, kinds: &[FeatureKind]) -> &mut [f64] {
        self.layout = Layout::Mixed;
        self.values.resize(kinds.len(), f64::NAN);
        self.kinds.clear();
        self.kinds.extend_from_slice(kinds);
        &mut self.values
    }

    /// Give the slots of a plain row these kinds: the row becomes a mixed one.
    pub fn with_kinds(&mut self, kinds: impl Iterator<Item = FeatureKind>) {
        self.layout = Layout::Mixed;
        self.kinds.clear();
        self.kinds.extend(kinds);
        self.kinds.resize(self.values.len(), FeatureKind::Unknown);
    }

    /// Write one slot of a plain or mixed row.
    #[inline]
    pub fn write(&mut self, slot: usize, value: f64) {
        self.values[slot] = value;
    }

    /// Write all slots of a plain or mixed row from `slot` on.
    #[inline]
    pub fn fill_from(&mut self, slot: usize, value: f64) {
        if let Some(rest) = self.values.get_mut(slot..) {
            rest.fill(value);
        }
    }

    /// Become an empty sparse row; `push` adds to it in ascending order of slots.
    pub fn sparse(&mut self, width: usize) {
        self.layout = Layout::Sparse;
        self.width = width;
        self.indices.clear();
        self.values.clear();
    }

    pub fn push(&mut self, slot: u32, value: f64) {
        self.indices.push(slot);
        self.values.push(value);
    }

    /// The same row with `width` slots; slots that a sparse row does not list become NaN.
    pub fn written_out(&mut self, width: usize) {
        if self.layout != Layout::Sparse {
            return;
        }
        let (indices, values) = (std::mem::take(&mut self.indices), std::mem::take(&mut self.values));
        self.mixed(width);
        for (&slot, &value) in indices.iter().zip(&values) {
            self.values[slot as usize] = value;
        }
        self.indices = indices;
    }

    /// Sort the slots of a sparse row of any length, none of which occurs twice.
    pub fn sort(&mut self) {
        if self.indices.is_sorted() {
            return;
        }
        let mut pairs: Vec<_> = self.indices.iter().copied().zip(self.values.iter().copied()).collect();
        pairs.sort_unstable_by_key(|pair| pair.0);
        for (place, (slot, value)) in pairs.into_iter().enumerate() {
            (self.indices[place], self.values[place]) = (slot, value);
        }
    }

    /// Let a sparse row name `width` slots.
    pub fn widen(&mut self, width: usize) {
        self.width = width;
    }

    pub fn is_sparse(&self) -> bool {
        self.layout == Layout::Sparse
    }

    /// Sort the slots of a sparse row by insertion: rows are short and nearly sorted.
    pub fn ascend(&mut self) {
        for end in 1..self.indices.len() {
            let mut at = end;
            while at > 0 && self.indices[at - 1] > self.indices[at] {
                self.indices.swap(at - 1, at);
                self.values.swap(at - 1, at);
                at -= 1;
            }
        }
    }

    /// Write one slot of a mixed row, which grows to hold it.
    pub fn put(&mut self, slot: usize, value: f64, kind: FeatureKind) {
        if slot >= self.values.len() {
            self.values.resize(slot + 1, f64::NAN);
            self.kinds.resize(slot + 1, FeatureKind::Number);
        }
        self.values[slot] = value;
        self.kinds[slot] = kind;
    }

    /// Add a slot at the end of a plain or mixed row.
    pub fn append(&mut self, value: f64, kind: FeatureKind) {
        self.values.push(value);
        if self.layout == Layout::Mixed {
            self.kinds.push(kind);
        }
    }

    /// Become `row` with another number for each number; nominal and missing values stay. In a sparse row,
    /// `number` is applied to listed values only: if 0 does not stay 0, use `Row::dense` first.
    #[inline]
    pub fn map(&mut self, row: Row<'_>, number: impl Fn(usize, f64) -> f64) {
        match row {
            Row::Plain(values) => {
                let out = self.plain(values.len());
                for (slot, (out, &value)) in out.iter_mut().zip(values).enumerate() {
                    *out = number(slot, value);
                }
            }
            Row::Mixed(values, kinds) => {
                let out = self.mixed_like(kinds);
                for (slot, (out, &value)) in out.iter_mut().zip(values).enumerate() {
                    let stays = kinds[slot] == FeatureKind::Nominal || value.is_nan();
                    *out = if stays { value } else { number(slot, value) };
                }
            }
            Row::Sparse(sparse) => {
                self.sparse(sparse.width);
                for (&slot, &value) in sparse.indices.iter().zip(sparse.values) {
                    self.push(slot, number(slot as usize, value));
                }
            }
        }
    }

    /// Become a copy of `row`.
    pub fn copy_from(&mut self, row: Row<'_>) {
        match row {
            Row::Plain(values) => self.plain(values.len()).copy_from_slice(values),
            Row::Mixed(values, kinds) => self.mixed_like(kinds).copy_from_slice(values),
            Row::Sparse(sparse) => {
                self.sparse(sparse.width);
                self.indices.extend_from_slice(sparse.indices);
                self.values.extend_from_slice(sparse.values);
            }
        }
    }

    pub fn memory(&self) -> usize {
        self.values.capacity() * 8 + self.kinds.capacity() + self.indices.capacity() * 4
    }
}

/// Buffers that learners borrow and return. One per thread; not part of any state.
#[derive(Debug, Default)]
pub struct Scratch {
    // Boxed, because they are borrowed and returned for every row.
    rows: Vec<Box<RowBuffer>>,
    numbers: Vec<Vec<f64>>,
    indices: Vec<Vec<u32>>,
    predictions: Vec<ClassPrediction>,
    row_batches: Vec<Vec<RowBuffer>>,
}

impl Scratch {
    #[inline]
    pub fn take_row(&mut self) -> Box<RowBuffer> {
        self.rows.pop().unwrap_or_default()
    }

    #[inline]
    pub fn give_row(&mut self, row: Box<RowBuffer>) {
        self.rows.push(row);
    }

    /// At least `count` rows, with arbitrary content.
    pub fn take_rows(&mut self, count: usize) -> Vec<RowBuffer> {
        let mut rows = self.row_batches.pop().unwrap_or_default();
        if rows.len() < count {
            rows.resize_with(count, RowBuffer::default);
        }
        rows
    }

    pub fn give_rows(&mut self, rows: Vec<RowBuffer>) {
        self.row_batches.push(rows);
    }

    pub fn take_numbers(&mut self) -> Vec<f64> {
        let mut numbers = self.numbers.pop().unwrap_or_default();
        numbers.clear();
        numbers
    }

    pub fn give_numbers(&mut self, numbers: Vec<f64>) {
        self.numbers.push(numbers);
    }

    pub fn take_indices(&mut self) -> Vec<u32> {
        let mut indices = self.indices.pop().unwrap_or_default();
        indices.clear();
        indices
    }

    pub fn give_indices(&mut self, indices: Vec<u32>) {
        self.indices.push(indices);
    }

    pub fn take_prediction(&mut self) -> ClassPrediction {
        self.predictions.pop().unwrap_or_default()
    }

    pub fn give_prediction(&mut self, prediction: ClassPrediction) {
        self.predictions.push(prediction);
    }
}

/// The requested prediction of a classifier: the class alone is often much cheaper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    Class,
    Probabilities,
}

/// The index of the largest number, the first among equals; none if all are NaN or there are none.
pub fn most(numbers: &[f64]) -> Option<u32> {
    let mut best: Option<(u32, f64)> = None;
    for (place, &number) in numbers.iter().enumerate() {
        if best.map_or(!number.is_nan(), |(_, most)| number > most) {
            best = Some((place as u32, number));
        }
    }
    best.map(|(place, _)| place)
}

/// True if no number is NaN or infinite. Written as a sum so that it runs in vector registers.
#[inline]
pub fn all_finite(numbers: &[f64]) -> bool {
    let mut sums = [0.0f64; 4];
    let mut chunks = numbers.chunks_exact(4);
    for chunk in &mut chunks {
        for (sum, number) in sums.iter_mut().zip(chunk) {
            *sum += number * 0.0;
        }
    }
    let rest: f64 = chunks.remainder().iter().map(|number| number * 0.0).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest == 0.0
}

/// The nearest finite number, if NaN cannot occur: two comparisons that compile to a minimum and a maximum, for
/// loops over a row.
#[inline(always)]
pub fn bounded(number: f64) -> f64 {
    let number = if number < f64::MAX { number } else { f64::MAX };
    if number > f64::MIN {
        number
    } else {
        f64::MIN
    }
}

/// The nearest finite number, for results that overflow on an extreme row; 0 for NaN.
#[inline]
pub fn finite(number: f64) -> f64 {
    if number.is_finite() {
        number
    } else if number.is_nan() {
        0.0
    } else {
        f64::MAX.copysign(number)
    }
}
