//! Rows that wait for their labels: values, prediction, and when the label is due.
//!
//! A row is stored as it was in the table, not as the model received it: new features and nominal values are
//! admitted when the row is learned, as with immediate labels. Slots are reused, so memory depends on the largest
//! number of rows that ever waited at once.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;

use crate::interactions::Walker;
use crate::labels::Label;
use crate::row::Sparse;
use crate::table::{Column, Raw, Table};
use crate::task::Answer;

/// The columns of an earlier table, needed to read its waiting rows.
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

/// The target of a waiting row.
#[derive(Clone, Debug, Default)]
pub enum PendingTarget {
    #[default]
    None,
    Class(Label),
    Number(f64),
}

/// One waiting row. Its buffers are reused for later rows.
#[derive(Default)]
pub struct PendingRow {
    pub layout: usize,
    values: Vec<f64>,
    indices: Vec<u32>,
    /// The width of a sparse row.
    width: Option<usize>,
    pub target: PendingTarget,
    pub w: f64,
    pub answer: Answer,
}

impl PendingRow {
    pub fn raw(&self) -> Raw<'_> {
        match self.width {
            Some(width) => Raw::Sparse(Sparse { indices: &self.indices, values: &self.values, width }),
            None => Raw::Dense(&self.values),
        }
    }

    fn copy_from(&mut self, raw: Raw<'_>, walker: &mut Walker) {
        self.values.clear();
        self.indices.clear();
        let sparse = match raw {
            Raw::Dense(values) => {
                self.width = None;
                self.values.extend_from_slice(values);
                return;
            }
            Raw::Sparse(sparse) => sparse,
            Raw::Crossed(row) => walker.walk(&row),
        };
        self.width = Some(sparse.width);
        self.values.extend_from_slice(sparse.values);
        self.indices.extend_from_slice(sparse.indices);
    }
}

/// When a label is due, its row and the slot of that row. Ordered by time, then by row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DueLabel {
    due: i64,
    pub row: u64,
    slot: u32,
}

#[derive(Default)]
pub struct Pending {
    held: Vec<PendingRow>,
    free: Vec<u32>,
    /// Labels that are due in the order of their rows, which is the common case …
    queue: VecDeque<DueLabel>,
    /// … and labels that are due before those of earlier rows.
    overtaking: BinaryHeap<Reverse<DueLabel>>,
    layouts: Vec<Option<(Arc<Layout>, usize)>>,
    walker: Walker,
}

impl Pending {
    /// The index of a table's layout, which is added if it is new.
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

    /// Remove layouts without waiting rows.
    pub fn tidy(&mut self) {
        for known in &mut self.layouts {
            if known.as_ref().is_some_and(|(_, rows)| *rows == 0) {
                *known = None;
            }
        }
    }

    #[allow(clippy::too_many_arguments)]
    pub fn push(
        &mut self,
        due: i64,
        row: u64,
        layout: usize,
        raw: Raw<'_>,
        target: PendingTarget,
        w: f64,
        answer: &Answer,
    ) {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.held.push(PendingRow::default());
            self.held.len() as u32 - 1
        });
        let held = &mut self.held[slot as usize];
        held.copy_from(raw, &mut self.walker);
        held.layout = layout;
        held.target = target;
        held.w = w;
        held.answer.number = answer.number;
        held.answer.class.class = answer.class.class;
        held.answer.class.probabilities.clone_from(&answer.class.probabilities);
        if let Some((_, rows)) = &mut self.layouts[layout] {
            *rows += 1;
        }
        let waiting = DueLabel { due, row, slot };
        match self.queue.back() {
            Some(last) if *last > waiting => self.overtaking.push(Reverse(waiting)),
            _ => self.queue.push_back(waiting),
        }
    }

    /// The next label that is due by `now`, in order; the next of all labels if `now` is `None`.
    pub fn pop(&mut self, now: Option<i64>) -> Option<DueLabel> {
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

    pub fn held(&self, waiting: DueLabel) -> &PendingRow {
        &self.held[waiting.slot as usize]
    }

    pub fn release(&mut self, waiting: DueLabel) {
        let held = &mut self.held[waiting.slot as usize];
        held.target = PendingTarget::None;
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
            + self.held.capacity() * std::mem::size_of::<PendingRow>()
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
    fn labels_arrive_by_time_then_row_and_slots_are_reused() {
        let table = OneColumn([Column::Number("x".into())]);
        let mut pending = Pending::default();
        let layout = pending.layout(&table);
        let answer = Answer::default();
        for (row, due) in [(0, 30), (1, 10), (2, 30), (3, 20), (4, 10)] {
            pending.push(due, row, layout, Raw::Dense(&[row as f64]), PendingTarget::Number(1.0), 1.0, &answer);
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
        pending.push(40, 5, layout, Raw::Dense(&[5.0]), PendingTarget::None, 1.0, &answer);
        assert_eq!((pending.len(), pending.held.len()), (1, 5));
        // A layout is kept while one of its rows waits.
        pending.tidy();
        assert!(pending.layouts()[layout].is_some());
        let last = pending.pop(None).expect("one is left");
        pending.release(last);
        pending.tidy();
        assert!(pending.layouts()[layout].is_none());
    }
}
