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

#[derive(Clone, Debug)]
pub struct Products {
    /// Whether products have coordinates, and not the features of either side alone.
    products: bool,
    most: usize,
    /// By space and slot of the action: coordinates by slot of the context.
    tables: [Vec<Vec<u32>>; 2],
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

    /// The table of a feature of an action, for features of the context below `TABLE`.
    #[inline]
    fn table(&self, space: usize, action: usize) -> &[u32] {
        self.tables[space].get(action).map_or(&[], |table| table)
    }

    #[inline]
    fn of(&self, space: usize, action: usize, shared: usize) -> Option<u32> {
        let found = match shared < TABLE {
            true => self.table(space, action).get(shared).copied(),
            false => self.wide.get(&[space as u32, action as u32, shared as u32]).copied(),
        };
        found.filter(|&coordinate| coordinate != NONE)
    }

    fn place(&mut self, pair: [u32; 3], coordinate: u32) {
        let [space, action, shared] = pair.map(|index| index as usize);
        if shared >= TABLE {
            match coordinate {
                NONE => self.wide.remove(&pair),
                _ => self.wide.insert(pair, coordinate),
            };
            return;
        }
        let tables = &mut self.tables[space];
        if tables.len() <= action {
            tables.resize(action + 1, Vec::new());
        }
        if tables[action].len() <= shared {
            tables[action].resize(shared + 1, NONE);
        }
        tables[action][shared] = coordinate;
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
    pub fn row(&self, round: &Round, index: usize, pairs: &mut Vec<(u32, f64)>) {
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
    }

    /// Give coordinates to everything new in an action; returns the number before, for `shrink`.
    pub fn grow(&mut self, who: &str, round: &Round, index: usize) -> Result<usize> {
        let before = self.len();
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
        while self.pairs.len() > before {
            if let Some(pair) = self.pairs.pop() {
                self.place(pair, NONE);
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
        let tables = self.tables.iter().flatten().map(|table| table.capacity() * 4 + 24).sum::<usize>();
        tables + self.pairs.capacity() * 12 + self.wide.capacity() * 20
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SavedProducts(pub Vec<[u32; 3]>);
