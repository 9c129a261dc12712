//! Rows whose labels have not come: their values, what was predicted for them, and when the label is due.
//!
//! A row is kept as the table held it, not as the model saw it: features and nominal values that are new in
//! it are admitted when it is learned, as they are when it is learned at once. Slots are reused, so memory
//! is that of the most rows ever in flight.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use crate::labels::Label;
use crate::row::Sparse;
use crate::table::{Column, Raw, Table};
use crate::task::Answer;

/// The columns of a table that has gone, for reading the rows that are left of it.
pub struct Layout {
    columns: Vec<Column>,
}

impl Layout {
    fn of(table: &dyn Table) -> Self {
        Layout { columns: table.columns().iter().map(copy).collect() }
    }

    fn is_of(&self, table: &dyn Table) -> bool {
        let columns = table.columns();
        columns.len() == self.columns.len() && columns.iter().zip(&self.columns).all(|(a, b)| same(a, b))
    }
}

fn copy(column: &Column) -> Column {
    match column {
        Column::Number(name) => Column::Number(name.clone()),
        Column::Nominal(name, categories) => Column::Nominal(name.clone(), categories.clone()),
    }
}

fn same(a: &Column, b: &Column) -> bool {
    match (a, b) {
        (Column::Number(a), Column::Number(b)) => a == b,
        (Column::Nominal(a, these), Column::Nominal(b, those)) => a == b && these == those,
        _ => false,
    }
}

impl Table for Layout {
    fn height(&self) -> usize {
        0
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn block<'b>(&'b self, _: usize, _: usize, _: &'b mut Vec<f64>) -> &'b [f64] {
        &[]
    }
}

/// A target that waits.
#[derive(Clone, Debug, Default)]
pub enum Due {
    #[default]
    None,
    Class(Label),
    Number(f64),
}

/// One row in flight. Its buffers are used again for later rows.
#[derive(Default)]
pub struct Held {
    pub layout: usize,
    values: Vec<f64>,
    indices: Vec<u32>,
    /// The width of a sparse row.
    width: Option<usize>,
    pub target: Due,
    pub w: f64,
    pub answer: Answer,
}

impl Held {
    pub fn raw(&self) -> Raw<'_> {
        match self.width {
            Some(width) => Raw::Sparse(Sparse { indices: &self.indices, values: &self.values, width }),
            None => Raw::Dense(&self.values),
        }
    }

    fn copy_from(&mut self, raw: Raw<'_>) {
        self.values.clear();
        self.indices.clear();
        match raw {
            Raw::Dense(values) => {
                self.width = None;
                self.values.extend_from_slice(values);
            }
            Raw::Sparse(sparse) => {
                self.width = Some(sparse.width);
                self.values.extend_from_slice(sparse.values);
                self.indices.extend_from_slice(sparse.indices);
            }
        }
    }
}

/// When a label is due, of which row, and where that is kept. In order of time, then of row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Waiting {
    due: i64,
    pub row: u64,
    slot: u32,
}

#[derive(Default)]
pub struct Pending {
    held: Vec<Held>,
    free: Vec<u32>,
    /// Labels that are due in the order in which their rows came, which is the common case …
    queue: VecDeque<Waiting>,
    /// … and those that overtake others.
    overtaking: BinaryHeap<Reverse<Waiting>>,
    layouts: Vec<Option<(Arc<Layout>, usize)>>,
}

impl Pending {
    /// The place of a table's layout, new or not.
    pub fn layout(&mut self, table: &dyn Table) -> usize {
        if let Some(place) =
            self.layouts.iter().position(|known| known.as_ref().is_some_and(|(l, _)| l.is_of(table)))
        {
            return place;
        }
        let made = Some((Arc::new(Layout::of(table)), 0));
        match self.layouts.iter().position(Option::is_none) {
            Some(place) => {
                self.layouts[place] = made;
                place
            }
            None => {
                self.layouts.push(made);
                self.layouts.len() - 1
            }
        }
    }

    pub fn layouts(&self) -> Vec<Option<Arc<Layout>>> {
        self.layouts.iter().map(|known| known.as_ref().map(|(layout, _)| layout.clone())).collect()
    }

    /// Forget layouts of which no row is left.
    pub fn tidy(&mut self) {
        for known in &mut self.layouts {
            if known.as_ref().is_some_and(|(_, rows)| *rows == 0) {
                *known = None;
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    pub fn push(&mut self, due: i64, row: u64, layout: usize, raw: Raw<'_>, target: Due, w: f64, answer: &Answer) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.held.push(Held::default());
            self.held.len() as u32 - 1
        });
        let held = &mut self.held[slot as usize];
        held.copy_from(raw);
        held.layout = layout;
        held.target = target;
        held.w = w;
        held.answer.number = answer.number;
        held.answer.class.class = answer.class.class;
        held.answer.class.probabilities.clone_from(&answer.class.probabilities);
        if let Some((_, rows)) = &mut self.layouts[layout] {
            *rows += 1;
        }
        let waiting = Waiting { due, row, slot };
        match self.queue.back() {
            Some(last) if *last > waiting => self.overtaking.push(Reverse(waiting)),
            _ => self.queue.push_back(waiting),
        }
    }

    /// The next label that has come by `now`, in order; `None` takes them all.
    pub fn pop(&mut self, now: Option<i64>) -> Option<Waiting> {
        let first = self.queue.front();
        let other = self.overtaking.peek().map(|Reverse(waiting)| waiting);
        let (next, overtakes) = match (first, other) {
            (Some(a), Some(b)) if b < a => (b, true),
            (Some(a), _) => (a, false),
            (None, Some(b)) => (b, true),
            (None, None) => return None,
        };
        if now.is_some_and(|now| next.due > now) {
            return None;
        }
        if overtakes {
            self.overtaking.pop().map(|Reverse(waiting)| waiting)
        } else {
            self.queue.pop_front()
        }
    }

    pub fn held(&self, waiting: Waiting) -> &Held {
        &self.held[waiting.slot as usize]
    }

    pub fn release(&mut self, waiting: Waiting) {
        let held = &mut self.held[waiting.slot as usize];
        held.target = Due::None;
        if let Some((_, rows)) = &mut self.layouts[held.layout] {
            *rows -= 1;
        }
        self.free.push(waiting.slot);
    }

    pub fn len(&self) -> usize {
        self.queue.len() + self.overtaking.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn memory(&self) -> usize {
        let buffers: usize = self
            .held
            .iter()
            .map(|held| {
                (held.values.capacity() + held.answer.class.probabilities.capacity()) * 8
                    + held.indices.capacity() * 4
            })
            .sum();
        buffers
            + self.held.capacity() * std::mem::size_of::<Held>()
            + (self.queue.capacity() + self.overtaking.len()) * 24
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct OneColumn([Column; 1]);

    impl Table for OneColumn {
        fn height(&self) -> usize {
            0
        }
        fn columns(&self) -> &[Column] {
            &self.0
        }
        fn block<'b>(&'b self, _: usize, _: usize, _: &'b mut Vec<f64>) -> &'b [f64] {
            &[]
        }
    }

    #[test]
    fn labels_come_in_order_of_time_then_of_row_and_slots_are_used_again() {
        let table = OneColumn([Column::Number("x".into())]);
        let mut pending = Pending::default();
        let layout = pending.layout(&table);
        let answer = Answer::default();
        for (row, due) in [(0, 30), (1, 10), (2, 30), (3, 20), (4, 10)] {
            pending.push(due, row, layout, Raw::Dense(&[row as f64]), Due::Number(1.0), 1.0, &answer);
        }
        assert_eq!(pending.pop(Some(9)), None);
        let mut order = Vec::new();
        for now in [10, 25, 100] {
            while let Some(waiting) = pending.pop(Some(now)) {
                let Raw::Dense(values) = pending.held(waiting).raw() else { panic!("a dense row") };
                assert_eq!(values, [waiting.row as f64]);
                order.push((now, waiting.row));
                pending.release(waiting);
            }
        }
        assert_eq!(order, [(10, 1), (10, 4), (25, 3), (100, 0), (100, 2)]);
        pending.push(40, 5, layout, Raw::Dense(&[5.0]), Due::None, 1.0, &answer);
        assert_eq!((pending.len(), pending.held.len()), (1, 5));
        // The layout is kept as long as a row of it waits.
        pending.tidy();
        assert!(pending.layouts()[layout].is_some());
        let last = pending.pop(None).expect("one is left");
        pending.release(last);
        pending.tidy();
        assert!(pending.layouts()[layout].is_none());
    }
}
