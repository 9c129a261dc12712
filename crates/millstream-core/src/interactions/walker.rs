//! Rows with products, and the buffers in which one of them is made.
//!
//! The column of a product is Fowler, Noll and Vo's hash of the columns of its features, as in Vowpal Wabbit: h ← p h ⊕ c
//! for each further column c, with p = 16777619. Only low bits matter, so 32 bits suffice for any number of columns.

use crate::row::Sparse;
use crate::text::sorter::{Sorter, MOST};

use super::Interactions;

/// The prime of the 32-bit FNV hash.
pub const PRIME: u32 = 16_777_619;

/// The features of one group: those before `end` in the row, after those of the group before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group {
    pub name: u8,
    pub end: u32,
}

/// The features of a row by group, and what to make of them. Groups ascend by name; the columns of a group are in the order
/// of the line, and may repeat.
#[derive(Clone, Copy)]
pub struct CrossedRow<'a> {
    pub indices: &'a [u32],
    pub values: &'a [f64],
    pub groups: &'a [Group],
    pub interactions: &'a Interactions,
    pub width: usize,
}

/// What a sparse table has in addition, if its rows are crossed.
#[derive(Clone, Copy)]
pub struct CrossedTable<'a> {
    /// Row i has the groups from `starts[i]` to `starts[i + 1]`.
    pub starts: &'a [usize],
    pub groups: &'a [Group],
    pub interactions: &'a Interactions,
}

/// A group in a product, and how often it occurs there.
#[derive(Clone, Copy, Debug)]
struct Factor {
    group: usize,
    times: usize,
}

/// Makes rows of features and products, one at a time.
#[derive(Clone, Debug, Default)]
pub struct Walker {
    /// The products and the groups that `plan` is for: most rows have the groups of the row before.
    products: Vec<Vec<u8>>,
    present: Vec<u8>,
    plan: Vec<Vec<Factor>>,
    /// Of the features and products, in the order in which they are made.
    columns: Vec<u32>,
    numbers: Vec<f64>,
    sorter: Sorter,
    order: Vec<u64>,
    /// The row: ascending, without repetition.
    indices: Vec<u32>,
    values: Vec<f64>,
}

impl Walker {
    fn prepare(&mut self, interactions: &Interactions, groups: &[Group]) {
        let same = self.present.len() == groups.len()
            && self.present.iter().zip(groups).all(|(&name, group)| name == group.name)
            && self.products == interactions.products();
        if same {
            return;
        }
        self.present.clear();
        self.present.extend(groups.iter().map(|group| group.name));
        self.products.clear();
        self.products.extend_from_slice(interactions.products());
        self.plan.clear();
        for product in interactions.among(&self.present) {
            let runs = product.chunk_by(|one, other| one == other);
            self.plan.push(runs.map(|run| Factor { group: run[0], times: run.len() }).collect());
        }
    }

    /// Number of products of a row with these groups.
    pub fn count(&mut self, interactions: &Interactions, groups: &[Group]) -> u64 {
        self.prepare(interactions, groups);
        let of = |factor: &Factor| combinations(size(groups, factor.group), factor.times);
        let product = |factors: &Vec<Factor>| factors.iter().map(of).fold(1, u64::saturating_mul);
        self.plan.iter().map(product).fold(0, u64::saturating_add)
    }

    /// The row with its features, their products and the constant: valid until the next one.
    pub fn walk(&mut self, row: &CrossedRow<'_>) -> Sparse<'_> {
        self.prepare(row.interactions, row.groups);
        self.columns.clear();
        self.numbers.clear();
        let ones = row.values.iter().fold(true, |ones, &value| ones & (value == 1.0));
        let mask = row.interactions.mask;
        for (place, group) in row.groups.iter().enumerate() {
            if !row.interactions.not_alone.has(group.name) {
                let range = range(row.groups, place);
                self.columns.extend(row.indices[range.clone()].iter().map(|column| column & mask));
                if !ones {
                    self.numbers.extend_from_slice(&row.values[range]);
                }
            }
        }
        let (columns, numbers) = (&mut self.columns, &mut self.numbers);
        for factors in &self.plan {
            match (&factors[..], ones) {
                ([first, second], true) if first.times == 1 && second.times == 1 => {
                    let (first, second) = (range(row.groups, first.group), range(row.groups, second.group));
                    let second = &row.indices[second];
                    for column in &row.indices[first] {
                        let half = PRIME.wrapping_mul(*column);
                        columns.extend(second.iter().map(|column| (half ^ column) & mask));
                    }
                }
                (_, true) => each_product(row, factors, None, &mut |column, _| columns.push(column & mask)),
                _ => each_product(row, factors, None, &mut |column, value| {
                    columns.push(column & mask);
                    numbers.push(value);
                }),
            }
        }
        if let Some(constant) = row.interactions.constant {
            self.columns.push(constant & mask);
            if !ones {
                self.numbers.push(1.0);
            }
        }
        match ones {
            true => self.count_ones(),
            false => self.add_up(),
        }
        Sparse { indices: &self.indices, values: &self.values, width: row.width }
    }

    /// Visit the products of a row with their columns and the places of their factors in the row.
    pub fn each_product(&mut self, row: &CrossedRow<'_>, visit: &mut dyn FnMut(u32, &[usize])) {
        self.prepare(row.interactions, row.groups);
        let mut places = Vec::new();
        for factors in &self.plan {
            let groups: Vec<usize> =
                factors.iter().flat_map(|factor| std::iter::repeat_n(factor.group, factor.times)).collect();
            each_choice(row, &groups, &mut places, 0, visit);
        }
    }

    /// The row that was made last.
    pub fn row(&self, width: usize) -> Sparse<'_> {
        Sparse { indices: &self.indices, values: &self.values, width }
    }

    /// Sort and count columns that all have the value 1.
    fn count_ones(&mut self) {
        self.indices.clear();
        self.values.clear();
        if self.columns.len() <= MOST {
            let (columns, counts) = self.sorter.count(&self.columns);
            self.indices.extend_from_slice(columns);
            self.values.extend(counts.iter().map(|&count| f64::from(count)));
            return;
        }
        self.columns.sort_unstable();
        for run in self.columns.chunk_by(|one, other| one == other) {
            self.indices.push(run[0]);
            self.values.push(run.len() as f64);
        }
    }

    /// Sort the columns and add up the values of each, in the order in which they were made.
    fn add_up(&mut self) {
        self.indices.clear();
        self.values.clear();
        self.order.clear();
        self.order.extend((0u64..).zip(&self.columns).map(|(place, &column)| u64::from(column) << 32 | place));
        self.order.sort_unstable();
        for run in self.order.chunk_by(|one, other| one >> 32 == other >> 32) {
            self.indices.push((run[0] >> 32) as u32);
            let values = run.iter().map(|&place| self.numbers[place as u32 as usize]);
            self.values.push(values.fold(0.0, |sum, value| sum + value));
        }
    }

    pub fn memory(&self) -> usize {
        (self.columns.capacity() + self.indices.capacity()) * 4
            + (self.numbers.capacity() + self.order.capacity() + self.values.capacity()) * 8
    }
}

fn range(groups: &[Group], place: usize) -> std::ops::Range<usize> {
    let start = if place == 0 { 0 } else { groups[place - 1].end as usize };
    start..groups[place].end as usize
}

fn size(groups: &[Group], place: usize) -> u64 {
    range(groups, place).len() as u64
}

/// Number of combinations with repetition of `times` among `n`, at most the largest number.
pub fn combinations(n: u64, times: usize) -> u64 {
    // C(n + k − 1, k); each partial product is itself a binomial coefficient, so that divisions are exact.
    let mut found: u128 = 1;
    for k in 1..=times as u128 {
        found = found * (u128::from(n) + k - 1) / k;
        if found > u128::from(u64::MAX) {
            return u64::MAX;
        }
    }
    found as u64
}

/// Visit the products of these factors. `begun` is the column and the value of the product so far.
fn each_product(
    row: &CrossedRow<'_>,
    factors: &[Factor],
    begun: Option<(u32, f64)>,
    visit: &mut impl FnMut(u32, f64),
) {
    let Some((first, rest)) = factors.split_first() else {
        if let Some((column, value)) = begun {
            visit(column, value);
        }
        return;
    };
    each_of_group(row, range(row.groups, first.group), first.times, begun, &mut |begun| {
        // A plain pair or triple ends here, without another call.
        match rest.is_empty() {
            true => visit(begun.0, begun.1),
            false => each_product(row, rest, Some(begun), &mut *visit),
        }
    });
}

/// Visit each combination with repetition of `times` features of a group, multiplied by the product so far.
fn each_of_group(
    row: &CrossedRow<'_>,
    group: std::ops::Range<usize>,
    times: usize,
    begun: Option<(u32, f64)>,
    visit: &mut dyn FnMut((u32, f64)),
) {
    for place in group.clone() {
        let (column, value) = (row.indices[place], row.values[place]);
        let next = match begun {
            None => (column, value),
            Some((hash, product)) => (PRIME.wrapping_mul(hash) ^ column, product * value),
        };
        match times {
            1 => visit(next),
            _ => each_of_group(row, place..group.end, times - 1, Some(next), visit),
        }
    }
}

/// Visit each choice of one feature for each of these groups, with the column of the product.
fn each_choice(
    row: &CrossedRow<'_>,
    groups: &[usize],
    places: &mut Vec<usize>,
    column: u32,
    visit: &mut dyn FnMut(u32, &[usize]),
) {
    let Some(&group) = groups.get(places.len()) else {
        return visit(column & row.interactions.mask, places);
    };
    let mut of_group = range(row.groups, group);
    if let Some(&last) = places.last().filter(|_| groups[places.len() - 1] == group) {
        of_group.start = last;
    }
    for place in of_group {
        let next = match places.is_empty() {
            true => row.indices[place],
            false => PRIME.wrapping_mul(column) ^ row.indices[place],
        };
        places.push(place);
        each_choice(row, groups, places, next, visit);
        places.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::super::Selection;
    use super::*;

    fn interactions(products: &[&str], not_alone: &str, constant: Option<u32>) -> Interactions {
        let products: Vec<Vec<u8>> = products.iter().map(|product| product.as_bytes().to_vec()).collect();
        Interactions::new(&products, Selection::of(not_alone.as_bytes()), (1 << 18) - 1, constant)
    }

    /// `|a x:2 y:3 |b z:5` has the columns 55432, 42847 and 124687; the others are those of VW 9.11.9.
    fn row(interactions: &Interactions, values: &[f64; 3]) -> Vec<(u32, f64)> {
        let groups = [Group { name: b'a', end: 2 }, Group { name: b'b', end: 3 }];
        let row = CrossedRow {
            indices: &[55_432, 42_847, 124_687],
            values,
            groups: &groups,
            interactions,
            width: 1 << 18,
        };
        let mut walker = Walker::default();
        let made = walker.walk(&row);
        let found: Vec<(u32, f64)> = made.indices.iter().copied().zip(made.values.iter().copied()).collect();
        let mut named = 0;
        walker.each_product(&row, &mut |column, places| {
            let value: f64 = places.iter().map(|&place| values[place]).product();
            assert!(found.contains(&(column, value)));
            named += 1;
        });
        assert_eq!(named, walker.count(interactions, &groups));
        let alone = groups.iter().enumerate().filter(|(_, group)| !interactions.not_alone.has(group.name));
        let alone: u64 = alone.map(|(place, _)| size(&groups, place)).sum();
        let count = walker.count(interactions, &groups) + alone + u64::from(interactions.constant.is_some());
        assert!(count >= walker.indices.len() as u64);
        found
    }

    #[test]
    fn columns_and_values_are_those_of_vowpal_wabbit() {
        let values = [2.0, 3.0, 5.0];
        assert_eq!(
            row(&interactions(&["ab"], "", None), &values),
            [(42_847, 3.0), (55_432, 2.0), (80_151, 10.0), (124_687, 5.0), (171_394, 15.0)]
        );
        assert_eq!(row(&interactions(&["aa"], "ab", None), &values), [(1680, 4.0), (31_047, 6.0), (253_394, 9.0)]);
        assert_eq!(
            row(&interactions(&["aab"], "ab", None), &values),
            [(200_138, 30.0), (242_623, 20.0), (251_545, 45.0)]
        );
        assert_eq!(row(&interactions(&["ba"], "a", Some(7)), &values).len(), 4);
        // Ones take another path, to the same columns.
        let ones = row(&interactions(&["::", "aab"], "", Some(7)), &[1.0; 3]);
        let columns = |row: &[(u32, f64)]| row.iter().map(|entry| entry.0).collect::<Vec<_>>();
        assert_eq!(columns(&ones), columns(&row(&interactions(&["::", "aab"], "", Some(7)), &values)));
        assert!(ones.iter().all(|entry| entry.1 == 1.0));
    }

    #[test]
    fn combinations_with_repetition() {
        assert_eq!((combinations(5, 2), combinations(3, 3), combinations(0, 2)), (15, 10, 0));
        assert_eq!((combinations(1, 9), combinations(u64::MAX, 4)), (1, u64::MAX));
    }
}
