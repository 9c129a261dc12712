//! The rows that a regressor learns: a coordinate for each feature of the context, each feature of the action, and, if
//! asked for, each product of one of either side. Coordinates are given in the order in which features are learned.

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::fault::{Fault, Result};
use crate::held::state::require;
use crate::schema::{FeatureKind, Name, Schema};

use super::round::{Round, Space, Spaces};

const NONE: u32 = u32::MAX;
/// Features of the context up to this slot are looked up in a table; later ones, of wide contexts, in a hash map.
const TABLE: usize = 4096;

/// The side of an action: features, or the label of an action without any.
const SPACES: [Space; 2] = [Space::Action, Space::Arm];

/// The coordinates of the products of one feature of an action, by slot of the context.
#[derive(Clone, Debug, Default)]
struct Table {
    coordinates: Vec<u32>,
    /// Whether the coordinates from slot `start` on are consecutive, so that none needs a lookup. The context of the first
    /// round that an action is learned in usually has all features.
    is_run: bool,
    start: usize,
}

impl Table {
    /// Give a coordinate to a slot. Coordinates ascend with time, so that one of an earlier slot than the last ends a run.
    fn set(&mut self, shared: usize, coordinate: u32) {
        let known = self.coordinates.len();
        if known == 0 {
            (self.start, self.is_run) = (shared, true);
        } else {
            let follows = shared == known && self.coordinates[known - 1] + 1 == coordinate;
            self.is_run = self.is_run && follows;
        }
        if shared >= known {
            self.coordinates.resize(shared + 1, NONE);
        }
        self.coordinates[shared] = coordinate;
        self.start = self.start.min(shared);
    }

    /// Forget the coordinate of a slot. `settle` follows.
    fn unset(&mut self, shared: usize) {
        if let Some(coordinate) = self.coordinates.get_mut(shared) {
            *coordinate = NONE;
        }
    }

    /// Find out anew what depends on the coordinates alone, so that a saved state is read as it was.
    fn settle(&mut self) {
        while self.coordinates.last() == Some(&NONE) {
            self.coordinates.pop();
        }
        let known = &self.coordinates;
        self.start = known.iter().position(|&coordinate| coordinate != NONE).unwrap_or(0);
        self.is_run =
            known[self.start..].windows(2).all(|pair| pair[0] != NONE && pair[1] == pair[0].wrapping_add(1));
    }
}

/// Consecutive coordinates of products: the slot of the context and the coordinate of the first, and their number.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    pub start: usize,
    pub first: u32,
    pub len: usize,
}

#[derive(Clone, Debug)]
pub struct Products {
    /// Whether products have coordinates, and not the features of either side alone.
    products: bool,
    most: usize,
    /// By space and slot of the action.
    tables: [Vec<Table>; 2],
    wide: FxHashMap<[u32; 3], u32>,
    /// The space, the action's slot and the context's slot of each coordinate.
    pairs: Vec<[u32; 3]>,
}

impl Products {
    pub fn new(products: bool, most: usize) -> Self {
        let tables = [Vec::new(), Vec::new()];
        Products { products, most, tables, wide: FxHashMap::default(), pairs: Vec::new() }
    }

    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    #[inline]
    fn of(&self, space: usize, action: usize, shared: usize) -> Option<u32> {
        let found = match shared < TABLE {
            true => self.tables[space].get(action).and_then(|table| table.coordinates.get(shared)).copied(),
            false => self.wide.get(&[space as u32, action as u32, shared as u32]).copied(),
        };
        found.filter(|&coordinate| coordinate != NONE)
    }

    /// The coordinates of the products of a feature of an action, if they are consecutive.
    #[inline]
    pub fn run(&self, space: usize, action: usize) -> Option<Run> {
        let table = self.tables[space].get(action).filter(|table| table.is_run && self.wide.is_empty())?;
        let (start, len) = (table.start, table.coordinates.len());
        (start < len).then(|| Run { start, first: table.coordinates[start], len: len - start })
    }

    /// Whether all features of the context have a coordinate with a feature of an action.
    #[inline]
    fn covers(&self, (space, action): (usize, usize), last: usize) -> bool {
        let run = self.run(space, action);
        let from = usize::from((space, action) == (0, 0));
        run.is_some_and(|run| run.start <= from && last < run.start + run.len)
    }

    fn place(&mut self, pair: [u32; 3], coordinate: u32) {
        let [space, action, shared] = pair.map(|index| index as usize);
        if shared >= TABLE {
            self.wide.insert(pair, coordinate);
            return;
        }
        let tables = &mut self.tables[space];
        if tables.len() <= action {
            tables.resize(action + 1, Table::default());
        }
        tables[action].set(shared, coordinate);
    }

    /// Visit the features of an action with their slots: the constant first, of the space of features.
    #[inline]
    fn each_factor(round: &Round, index: usize, mut visit: impl FnMut(usize, usize, f64)) {
        visit(0, 0, 1.0);
        match round.has_features() {
            true => round.action(index).iter().for_each(|(slot, value)| visit(0, slot, value)),
            false => visit(1, round.arms[index] as usize, 1.0),
        }
    }

    /// Write the coordinates of the context times one feature of an action, and their values. Features without a
    /// coordinate are left out.
    #[inline]
    pub fn factor(
        &self,
        round: &Round,
        (space, action): (usize, usize),
        indices: &mut Vec<u32>,
        values: &mut Vec<f64>,
    ) {
        indices.clear();
        values.clear();
        let mut push = |shared: usize, value: f64| {
            if let Some(coordinate) = self.of(space, action, shared) {
                indices.push(coordinate);
                values.push(value);
            }
        };
        push(0, 1.0);
        if self.products || (space, action) == (0, 0) {
            round.shared.view().iter().for_each(|(slot, value)| push(slot, value));
        }
    }

    /// Write the row of an action; coordinates ascend.
    pub fn row(&self, round: &Round, index: usize, row: &mut RowBuffers) {
        row.indices.clear();
        row.values.clear();
        if self.row_of_runs(round, index, row) {
            return;
        }
        let pairs = &mut row.pairs;
        pairs.clear();
        Self::each_factor(round, index, |space, action, value| {
            let mut push = |shared: usize, number: f64| {
                if let Some(coordinate) = self.of(space, action, shared) {
                    pairs.push((coordinate, number));
                }
            };
            push(0, value);
            if self.products || (space, action) == (0, 0) {
                round.shared.view().iter().for_each(|(slot, number)| push(slot, number * value));
            }
        });
        if !pairs.is_sorted_by(|one, other| one.0 < other.0) {
            pairs.sort_by_key(|pair| pair.0);
            // A feature that a text has twice counts twice.
            pairs.dedup_by(|later, first| {
                let same = later.0 == first.0;
                if same {
                    first.1 += later.1;
                }
                same
            });
        }
        row.indices.extend(pairs.iter().map(|pair| pair.0));
        row.values.extend(pairs.iter().map(|pair| pair.1));
    }

    /// Append what has no coordinate to the row of an action, with coordinates that nothing has.
    pub fn append_new(&self, round: &Round, index: usize, row: &mut RowBuffers) {
        let mut next = self.pairs.len() as u32;
        Self::each_factor(round, index, |space, action, value| {
            let mut look = |shared: usize, number: f64| {
                if (space, action, shared) != (0, 0, 0) && self.of(space, action, shared).is_none() {
                    row.indices.push(next);
                    row.values.push(number);
                    next += 1;
                }
            };
            look(0, value);
            if self.products || (space, action) == (0, 0) {
                round.shared.view().iter().for_each(|(slot, number)| look(slot, number * value));
            }
        });
    }

    /// `row`, if all of its coordinates are of runs; otherwise false.
    fn row_of_runs(&self, round: &Round, index: usize, row: &mut RowBuffers) -> bool {
        let shared = round.shared.view();
        if !self.products || !shared.slots.is_sorted_by(|one, other| one < other) {
            return false;
        }
        let last = shared.slots.last().map_or(0, |&slot| slot as usize);
        let RowBuffers { indices, values, runs, .. } = row;
        runs.clear();
        let mut covered = true;
        Self::each_factor(round, index, |space, action, value| match self.run(space, action) {
            Some(run) if self.covers((space, action), last) => runs.push((run, value)),
            _ => covered = false,
        });
        // A few features, of which most are in order.
        runs.sort_by_key(|(run, _)| run.first);
        if !covered || !runs.is_sorted_by(|one, other| one.0.first < other.0.first) {
            return false;
        }
        for &(run, value) in runs.iter() {
            // The constant of both sides is the intercept of the model, and has no coordinate.
            if run.start == 0 {
                indices.push(run.first);
                values.push(value);
            }
            let offset = run.first.wrapping_sub(run.start as u32);
            indices.extend(shared.slots.iter().map(|&slot| offset.wrapping_add(slot)));
            values.extend(shared.values.iter().map(|&number| number * value));
        }
        true
    }

    /// Give coordinates to everything new in an action; returns the number before, for `shrink`.
    pub fn grow(&mut self, who: &str, round: &Round, index: usize) -> Result<usize> {
        let before = self.len();
        let last = round.shared.slots.iter().copied().max().unwrap_or(0) as usize;
        let mut complete = self.products;
        Self::each_factor(round, index, |space, action, _| complete &= self.covers((space, action), last));
        if complete {
            return Ok(before);
        }
        let mut fresh = Vec::new();
        Self::each_factor(round, index, |space, action, _| {
            let mut look = |shared: usize| {
                if (space, action, shared) != (0, 0, 0) && self.of(space, action, shared).is_none() {
                    fresh.push([space as u32, action as u32, shared as u32]);
                }
            };
            look(0);
            if self.products || (space, action) == (0, 0) {
                round.shared.slots.iter().for_each(|&slot| look(slot as usize));
            }
        });
        if before + fresh.len() > self.most {
            return Err(Fault::value(format!(
                "{who}: a round would raise the number of features and products to {}, max_features is {}",
                before + fresh.len(),
                self.most
            )));
        }
        for pair in fresh {
            // A text may have a feature twice.
            if self.of(pair[0] as usize, pair[1] as usize, pair[2] as usize).is_none() {
                self.place(pair, self.pairs.len() as u32);
                self.pairs.push(pair);
            }
        }
        Ok(before)
    }

    pub fn shrink(&mut self, before: usize) {
        let dropped = self.pairs.split_off(before.min(self.pairs.len()));
        for pair in &dropped {
            let [space, action, shared] = pair.map(|index| index as usize);
            match shared < TABLE {
                true => self.tables[space][action].unset(shared),
                false => drop(self.wide.remove(pair)),
            }
        }
        for [space, action, _] in dropped {
            if let Some(table) = self.tables[space as usize].get_mut(action as usize) {
                table.settle();
            }
        }
    }

    /// The names of the coordinates: "age", "genre=news", "age × genre=news".
    pub fn schema(&self, spaces: &Spaces) -> Schema {
        let mut schema = Schema::default();
        for &[space, action, shared] in &self.pairs {
            let name = |space: Space, slot: u32| match slot {
                0 => None,
                slot => Some(spaces.schema(space).name(slot as usize - 1)),
            };
            let name = match (name(Space::Shared, shared), name(SPACES[space as usize], action)) {
                (Some(shared), Some(action)) => Name::from(&*format!("{} × {}", shared.text(), action.text())),
                (Some(name), None) | (None, Some(name)) => name,
                (None, None) => Name::from("constant"),
            };
            schema.push_unique(name, FeatureKind::Number);
        }
        schema
    }

    pub fn pairs(&self) -> &[[u32; 3]] {
        &self.pairs
    }

    pub fn adopt(&mut self, who: &str, saved: SavedProducts, spaces: &Spaces) -> Result<()> {
        let SavedProducts(pairs) = saved;
        *self = Products::new(self.products, self.most);
        for pair in pairs {
            let [space, action, shared] = pair.map(|index| index as usize);
            let within = space < 2
                && action < spaces.width(SPACES[space.min(1)])
                && shared < spaces.width(Space::Shared)
                && pair != [0; 3]
                && self.of(space, action, shared).is_none();
            require(who, within, "a product of unknown features")?;
            self.place(pair, self.pairs.len() as u32);
            self.pairs.push(pair);
        }
        Ok(())
    }

    pub fn memory(&self) -> usize {
        let tables =
            self.tables.iter().flatten().map(|table| table.coordinates.capacity() * 4 + 40).sum::<usize>();
        tables + self.pairs.capacity() * 12 + self.wide.capacity() * 20
    }
}

/// A row, with buffers to write it.
#[derive(Clone, Debug, Default)]
pub struct RowBuffers {
    pub indices: Vec<u32>,
    pub values: Vec<f64>,
    pairs: Vec<(u32, f64)>,
    /// The runs of the features of an action, with their values.
    runs: Vec<(Run, f64)>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SavedProducts(pub Vec<[u32; 3]>);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::random::Random;

    /// A round of some of the features 1 to 6 of the context, and of two actions.
    fn round(random: &mut Random, density: f64) -> Round {
        let mut round = Round::default();
        for slot in 1..=6 {
            if random.chance(density) {
                round.push_shared(slot, random.gaussian());
            }
        }
        for action in 0..2 {
            for slot in [1 + action, 4, 5] {
                round.push_feature(slot, random.gaussian());
            }
            round.end_action();
        }
        round
    }

    #[test]
    fn rows_of_runs_are_those_of_lookups() {
        let (mut random, mut row) = (Random::new(5, 1), RowBuffers::default());
        // With all features of the context from the start, coordinates are consecutive; later ones end some runs.
        for density in [1.0, 0.4] {
            let (mut products, mut runs) = (Products::new(true, 1000), 0);
            for _ in 0..50 {
                let round = round(&mut random, density);
                for index in 0..2 {
                    let before = products.grow("p", &round, index).expect("there is room");
                    let mut wanted = std::collections::BTreeMap::new();
                    Products::each_factor(&round, index, |space, action, value| {
                        for (shared, number) in std::iter::once((0, 1.0)).chain(round.shared.view().iter()) {
                            if let Some(coordinate) = products.of(space, action, shared) {
                                wanted.insert(coordinate, number * value);
                            }
                        }
                    });
                    products.row(&round, index, &mut row);
                    let found: Vec<_> = row.indices.iter().copied().zip(row.values.iter().copied()).collect();
                    assert_eq!(found, wanted.into_iter().collect::<Vec<_>>());
                    runs += u32::from(products.row_of_runs(&round, index, &mut RowBuffers::default()));
                    // What was taken back and learned again is where it was.
                    let (pairs, coordinates) = (products.pairs.clone(), format!("{:?}", products.tables));
                    products.shrink(before);
                    products.grow("p", &round, index).expect("there is room");
                    assert_eq!((&products.pairs, format!("{:?}", products.tables)), (&pairs, coordinates));
                }
            }
            assert_eq!(runs == 100, density == 1.0, "{runs}");
        }
    }
}
