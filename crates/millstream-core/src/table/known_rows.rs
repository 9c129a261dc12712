//! Many rows of a table at once, as a model holds them.
//!
//! A learner that takes rows one at a time gets each from `Reader::row`. Here the rows of a block are converted column by
//! column, so that the kind of a column, its slot and its codes are looked up once for all of them.

use crate::batch::Rows;
use crate::fault::Result;
use crate::row::all_finite;
use crate::schema::{FeatureKind, Schema, UNSEEN};

use super::{raw_block, Column, RawBlock, Reader, Table, BLOCK, NONE};

impl Reader<'_> {
    /// The first rows of a dense block that hold nothing new and nothing to be refused, each as `row` returns it. The
    /// row after them is processed alone. `buffer` holds the rows that are not read in place.
    pub fn known_rows<'r>(&mut self, schema: &'r Schema, raw: &'r [f64], buffer: &'r mut Vec<f64>) -> Rows<'r> {
        self.look_up(schema);
        let (columns, width) = (self.columns.len(), schema.len());
        if columns == 0 || self.slots.contains(&NONE) {
            return Rows::Owned(&[]);
        }
        if self.direct {
            return plain(raw, columns, raw.len() / columns);
        }
        buffer.clear();
        buffer.resize(raw.len() / columns * width, f64::NAN);
        let mut known = raw.len() / columns;
        for place in 0..columns {
            known = self.convert(place, schema, &raw[..known * columns], buffer).unwrap_or(known);
        }
        match schema.all_numbers() {
            true => plain(buffer, width, known),
            false => Rows::Mixed { values: &buffer[..known * width], kinds: schema.kinds() },
        }
    }

    /// Whether rows of this table can hold nothing new: every column is a known feature of its kind, and all categories
    /// are known.
    pub fn knows_all(&mut self, schema: &Schema) -> bool {
        self.look_up(schema);
        let (slots, kinds) = (&self.slots, schema.kinds());
        self.columns.iter().zip(slots).zip(&mut self.codes).all(|((column, &slot), codes)| {
            let kind = kinds.get(slot as usize).copied().unwrap_or(FeatureKind::Unknown);
            match (column, kind) {
                (Column::Number(_), FeatureKind::Number) => true,
                (Column::Nominal(_, categories), FeatureKind::Nominal) => {
                    let mut known = categories.iter().zip(codes);
                    known.all(|(text, code)| is_known(code, || known_code(schema, slot, text)))
                }
                _ => false,
            }
        })
    }

    /// Write a column of the rows `raw` to `buffer`; the index of the first value that is new or to be refused, if there is
    /// one.
    fn convert(&mut self, place: usize, schema: &Schema, raw: &[f64], buffer: &mut [f64]) -> Option<usize> {
        let slot = self.slots[place];
        let codes = &mut self.codes[place];
        let values = raw.chunks_exact(self.columns.len()).map(|raw| raw[place]);
        let cells = values.clone().zip(buffer.chunks_exact_mut(schema.len()));
        match (&self.columns[place], schema.kinds()[slot as usize]) {
            (Column::Number(_), FeatureKind::Number) => {
                let mut infinite = false;
                for (value, row) in cells {
                    row[slot as usize] = value;
                    infinite |= value.is_infinite();
                }
                infinite.then(|| values.clone().position(f64::is_infinite)).flatten()
            }
            (Column::Nominal(_, categories), FeatureKind::Nominal) => {
                for (index, (value, row)) in cells.enumerate() {
                    if value.is_nan() {
                        continue;
                    }
                    // Not a category: `row` refuses it.
                    let Some(code) = codes.get_mut(value as usize).filter(|_| value >= 0.0) else {
                        return Some(index);
                    };
                    if !is_known(code, || known_code(schema, slot, &categories[value as usize])) {
                        return Some(index);
                    }
                    row[slot as usize] = *code;
                }
                None
            }
            // The kind of the feature is new, or another one.
            _ => values.clone().position(|value| !value.is_nan()),
        }
    }
}

/// The code of a category; one that is folded counts as new, because each of its rows is counted.
fn known_code(schema: &Schema, slot: u32, text: &str) -> f64 {
    match schema.folds(slot, text) {
        true => UNSEEN,
        false => schema.nominal(slot, text),
    }
}

/// Whether the code of a category is known, after it was looked up if it is NaN.
#[inline]
fn is_known(code: &mut f64, look_up: impl FnOnce() -> f64) -> bool {
    if code.is_nan() {
        let found = look_up();
        if found == UNSEEN {
            return false;
        }
        *code = found;
    }
    true
}

/// The first rows without a missing value, of `known` rows.
fn plain(values: &[f64], width: usize, known: usize) -> Rows<'_> {
    let values = &values[..known * width];
    let known = match all_finite(values) {
        true => known,
        false => values.chunks_exact(width).take_while(|x| all_finite(x)).count(),
    };
    Rows::Plain { values: &values[..known * width], width }
}

/// The most numbers of a block: it stays in the L2 cache.
const BLOCK_NUMBERS: usize = 1 << 15;
/// The most rows of a block.
const BLOCK_ROWS: usize = 4096;

/// Visit the rows `from` to `to` of a table in order; stop at the first fault. `visit` receives the index of the first
/// row, the number of rows and the rows, and returns how many it has processed, at least one. After it has processed
/// fewer than it received, it receives few rows: a table in which every other row is new is not read again and again.
pub fn each_run(
    table: &dyn Table,
    from: usize,
    to: usize,
    mut visit: impl FnMut(usize, usize, RawBlock<'_>) -> Result<usize>,
) -> Result<()> {
    let size = (BLOCK_NUMBERS / table.columns().len().max(1)).clamp(BLOCK, BLOCK_ROWS);
    let mut buffer = Vec::new();
    for start in (from..to).step_by(size) {
        let end = (start + size).min(to);
        let block = raw_block(table, start, end, &mut buffer);
        let (mut row, mut most) = (start, size);
        while row < end {
            let count = most.min(end - row);
            let done = visit(row, count, block.part(row - start, count))?.max(1);
            most = if done < count { 1 } else { 2 * most };
            row += done;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Row;
    use crate::table::Raw;

    fn same(a: Row<'_>, b: Row<'_>) -> bool {
        let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        match (a, b) {
            (Row::Plain(a), Row::Plain(b)) => bits(a) == bits(b),
            (Row::Mixed(a, kinds), Row::Mixed(b, others)) => bits(a) == bits(b) && kinds == others,
            _ => false,
        }
    }

    struct Given(Vec<Column>, Vec<f64>);

    impl Table for Given {
        fn height(&self) -> usize {
            self.1.len() / self.0.len()
        }
        fn columns(&self) -> &[Column] {
            &self.0
        }
        fn block<'b>(&'b self, from: usize, to: usize, _: &'b mut Vec<f64>) -> &'b [f64] {
            &self.1[from * self.0.len()..to * self.0.len()]
        }
    }

    fn texts(texts: &[&str]) -> Vec<std::sync::Arc<str>> {
        texts.iter().map(|&text| text.into()).collect()
    }

    #[test]
    fn known_rows_are_the_rows_of_the_reader() {
        let colour = || Column::Nominal("colour".into(), texts(&["red", "green", "blue"]));
        let number = |name: &str| Column::Number(name.into());
        let mut schema = Schema::default();
        for (name, kind) in
            [("size", FeatureKind::Number), ("colour", FeatureKind::Nominal), ("late", FeatureKind::Unknown)]
        {
            schema.push(&name.into(), kind);
        }
        schema.admit_nominal(1, "green");
        schema.admit_nominal(1, "red");
        let mut numbers = Schema::default();
        for name in ["a", "b"] {
            numbers.push(&name.into(), FeatureKind::Number);
        }
        let (missing, infinite) = (f64::NAN, f64::INFINITY);
        // The columns in another order than the slots, and the number of rows before the first that is not known.
        for (schema, columns, values, expected) in [
            (&schema, vec![colour(), number("size")], vec![0.0, 1.5, 1.0, missing, missing, 2.0], 3),
            (&schema, vec![colour(), number("size")], vec![0.0, 1.5, 2.0, 1.0, 0.0, 2.0], 1),
            (&schema, vec![colour(), number("size")], vec![0.0, 1.5, 1.0, infinite], 1),
            (&schema, vec![colour(), number("size")], vec![1.0, 1.5, 3.0, 0.0], 1),
            (&schema, vec![number("size"), colour(), number("late")], vec![1.0, 1.0, missing, 1.0, 1.0, 2.0], 1),
            (&schema, vec![number("colour")], vec![missing, 1.0], 1),
            (&schema, vec![number("other")], vec![1.0], 0),
            (&numbers, vec![number("a"), number("b")], vec![1.0, 2.0, 3.0, 4.0, missing, 5.0], 2),
            (&numbers, vec![number("b"), number("a")], vec![1.0, 2.0, 3.0, 4.0, missing, 5.0], 2),
            (&numbers, vec![number("b")], vec![1.0, 2.0], 0),
        ] {
            let (width, table) = (columns.len(), Given(columns, values));
            let (mut reader, mut one) =
                (Reader::new(&table, schema).expect("named"), Reader::new(&table, schema).expect("named"));
            let mut buffer = Vec::new();
            let rows = reader.known_rows(schema, &table.1, &mut buffer);
            assert_eq!(rows.len(), expected);
            for row in 0..expected {
                let raw = Raw::Dense(&table.1[row * width..(row + 1) * width]);
                assert!(same(rows.at(row), one.row(schema, raw).expect("known")), "row {row}");
            }
        }
    }

    #[test]
    fn every_row_is_visited_once() {
        let table = Given(vec![Column::Number("x".into())], (0..9000).map(f64::from).collect());
        // All rows at once, one row, and up to three.
        for most in [usize::MAX, 1, 3] {
            let (mut seen, mut calls) = (Vec::new(), 0);
            let visited = each_run(&table, 10, 8990, |row, count, block| {
                calls += 1;
                let done = count.min(most);
                for at in 0..done {
                    let Raw::Dense(x) = block.row(at) else { return Ok(done) };
                    seen.push((row + at, x[0]));
                }
                Ok(done)
            });
            assert!(visited.is_ok() && seen.iter().copied().eq((10..8990).map(|row| (row, row as f64))));
            assert!(calls <= if most == usize::MAX { 3 } else { 9000 });
        }
    }
}
