//! Which groups are multiplied, as in Vowpal Wabbit 9.
//!
//! A product is a list of groups, each named by a byte; `:` is any group. Of two products of the same groups in another
//! order, the alphabetically first is kept; where a group occurs twice, the groups are sorted, and the features of that
//! group are combined with repetition, so that each product of features occurs once.

use std::collections::BTreeMap;

/// Any group.
pub const WILDCARD: u8 = b':';

/// Of which groups the features themselves are left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection([bool; 256]);

impl Default for Selection {
    fn default() -> Self {
        Selection([false; 256])
    }
}

impl Selection {
    pub fn of(groups: &[u8]) -> Self {
        let mut chosen = Selection::default();
        groups.iter().for_each(|&group| chosen.0[group as usize] = true);
        chosen
    }

    #[inline]
    pub fn has(&self, group: u8) -> bool {
        self.0[group as usize]
    }

    pub fn is_empty(&self) -> bool {
        !self.0.contains(&true)
    }
}

#[derive(Clone, Debug, Default)]
pub struct Interactions {
    products: Vec<Vec<u8>>,
    /// Groups whose features count in products only.
    pub not_alone: Selection,
    /// The columns are cut by this mask.
    pub mask: u32,
    /// The column of a feature that is always 1.
    pub constant: Option<u32>,
}

impl Interactions {
    pub fn new(products: &[Vec<u8>], not_alone: Selection, mask: u32, constant: Option<u32>) -> Self {
        Interactions { products: distinct(products.to_vec()), not_alone, mask, constant }
    }

    pub fn products(&self) -> &[Vec<u8>] {
        &self.products
    }

    /// Groups that are named and not just matched by a wildcard.
    pub fn named(&self) -> impl Iterator<Item = u8> + '_ {
        self.products.iter().flatten().copied().filter(|&group| group != WILDCARD)
    }

    /// The products of these groups, which ascend, as indices of groups: runs of one group are adjacent.
    pub fn among(&self, present: &[u8]) -> Vec<Vec<usize>> {
        let mut found = Vec::new();
        for product in &self.products {
            let wild = product.iter().filter(|&&group| group == WILDCARD).count();
            let known = |group: &u8| *group == WILDCARD || present.contains(group);
            if !product.iter().all(known) {
                continue;
            }
            match wild {
                0 => found.push(product.clone()),
                // One wildcard stays in its place.
                1 => found.extend(present.iter().map(|&any| {
                    product.iter().map(|&group| if group == WILDCARD { any } else { group }).collect()
                })),
                // Two ascend and more descend, as in Vowpal Wabbit.
                _ => each_combination(present, wild, &mut |combination| {
                    let mut any = combination.iter().copied();
                    let mut next = || if wild == 2 { any.next() } else { any.next_back() };
                    let name = |&group: &u8| if group == WILDCARD { next().unwrap_or(group) } else { group };
                    found.push(product.iter().map(name).collect());
                }),
            }
        }
        let place = |group: &u8| present.iter().position(|known| known == group).unwrap_or(0);
        distinct(found).iter().map(|product| product.iter().map(place).collect()).collect()
    }
}

/// Each combination with repetition of `size` groups, ascending.
fn each_combination(groups: &[u8], size: usize, visit: &mut impl FnMut(&[u8])) {
    let mut places = vec![0; size];
    let mut chosen = vec![0; size];
    if groups.is_empty() {
        return;
    }
    loop {
        chosen.iter_mut().zip(&places).for_each(|(chosen, &place)| *chosen = groups[place]);
        visit(&chosen);
        let Some(last) = places.iter().rposition(|&place| place + 1 < groups.len()) else { return };
        let next = places[last] + 1;
        places[last..].fill(next);
    }
}

/// One of each set of products of the same groups.
fn distinct(mut products: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    products.sort();
    let mut kept: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    for product in products {
        let mut sorted = product.clone();
        sorted.sort_unstable();
        let repeats = sorted.windows(2).any(|pair| pair[0] == pair[1]);
        let shown = if repeats { sorted.clone() } else { product };
        kept.entry(sorted).or_insert(shown);
    }
    kept.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn among(products: &[&str], present: &str) -> Vec<String> {
        let products: Vec<Vec<u8>> = products.iter().map(|product| product.as_bytes().to_vec()).collect();
        let interactions = Interactions::new(&products, Selection::default(), u32::MAX, None);
        let name = |places: Vec<usize>| places.iter().map(|&place| present.as_bytes()[place] as char).collect();
        let mut found: Vec<String> = interactions.among(present.as_bytes()).into_iter().map(name).collect();
        found.sort();
        found
    }

    /// The products that VW 9.11.9 forms.
    #[test]
    fn products_are_those_of_vowpal_wabbit() {
        assert_eq!(among(&["ba", "ab"], "abc"), ["ab"]);
        assert_eq!(among(&["ba"], "abc"), ["ba"]);
        assert_eq!(among(&["aba"], "ab"), ["aab"]);
        assert_eq!(among(&["ax"], "ab"), Vec::<String>::new());
        assert_eq!(among(&[":a"], "ab"), ["aa", "ba"]);
        assert_eq!(among(&["b:", "a:"], "ab"), ["aa", "ab", "bb"]);
        assert_eq!(among(&["::"], " abc"), ["  ", " a", " b", " c", "aa", "ab", "ac", "bb", "bc", "cc"]);
        assert_eq!(among(&["a:b"], " abc"), ["a b", "aab", "abb", "acb"]);
        assert_eq!(among(&["b::"], " ac"), Vec::<String>::new());
        assert_eq!(
            among(&[":b:"], " abc"),
            ["  b", " ab", " bb", " cb", "aab", "abb", "acb", "bbb", "bbc", "bcc"]
        );
        assert_eq!(among(&[":::"], "abc").len(), 10);
        assert!(among(&[":::"], "abc").contains(&"cba".to_string()));
        let five = among(&["b::::"], " ab");
        assert!(five.contains(&"  aab".to_string()) && five.len() == 15);
    }
}
