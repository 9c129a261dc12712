//! HNSW: a graph of stored rows with layers, for approximate searches (Malkov and Yashunin, 2018, "Efficient and robust
//! approximate nearest neighbor search using hierarchical navigable small world graphs", IEEE TPAMI 42(4)).
//!
//! A row is on the layers 0 to ⌊−ln(u) / ln(M)⌋, u uniform. A search walks on each layer towards the query, from the top
//! down; on layer 0 it keeps the `ef` nearest rows it has met (algorithm 2). A new row is linked to M of the
//! `ef_construction` nearest rows, chosen by the heuristic of algorithm 4: a row is skipped if it is closer to a chosen
//! one than to the new one. A row has at most M links, 2 M on layer 0.
//!
//! The paper has no deletion. Here each row also lists its incoming links. When a row is removed, each row that linked to
//! it gets one of its links instead, chosen by the same heuristic, and a row that would lose its last incoming link keeps
//! one. So nothing that is deleted is ever visited, and the graph stays searchable over any number of turnovers.
//!
//! Ties are broken by place, and levels come from a seeded generator, so the graph is the same on every platform.

use serde::{Deserialize, Serialize};

use crate::declaration::{Built, Declaration, Role};
use crate::merging::Merge;
use crate::numeric::elementary::ln;
use crate::numeric::random::Random;
use crate::parameter::{Default as DefaultValue, Kind, Parameter};
use crate::row::Scratch;

use super::hnsw_search::Pool;
use super::nearest::Nearest;
use super::points::Points;
use super::scan::{sum_of, Query, Space};

/// Separates the random numbers of levels from other uses of a seed.
const LEVELS: u64 = 0x686e_7377;
/// With two links per layer, this is enough for 65,536 rows; with more links, for any number.
const MOST_LAYERS: usize = 16;

pub static DECLARATION: Declaration = Declaration {
    name: "neighbors.HNSW",
    role: Role::SearchEngine,
    words: "Approximate nearest neighbours by a hierarchical navigable small world graph",
    merge: Merge::SETTING,
    parameters: &[
        Parameter::new(
            "m",
            Kind::Integer { low: 2, high: 256 },
            DefaultValue::Integer(16),
            "number of links of a row on each layer; twice as many on the lowest",
        ),
        Parameter::new(
            "ef_construction",
            Kind::Integer { low: 1, high: 1 << 16 },
            DefaultValue::Integer(100),
            "number of nearest rows among which a new row chooses its links",
        ),
        Parameter::new(
            "ef_search",
            Kind::Integer { low: 1, high: 1 << 16 },
            DefaultValue::Integer(50),
            "number of nearest rows that a search keeps; at least the number of neighbours",
        ),
        Parameter::new(
            "seed",
            Kind::Integer { low: 0, high: i64::MAX },
            DefaultValue::Integer(0),
            "seed of the random layers",
        ),
    ],
    build: |arguments| {
        Ok(Built::SearchEngine(Settings {
            m: arguments.size("m")?,
            ef_construction: arguments.size("ef_construction")?,
            ef_search: arguments.size("ef_search")?,
            seed: arguments.integer("seed")? as u64,
        }))
    },
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    pub m: usize,
    pub ef_construction: usize,
    pub ef_search: usize,
    pub seed: u64,
}

/// The links of a row on a layer.
#[derive(Clone, Debug, Default)]
struct Links {
    out: Vec<u32>,
    /// The rows that link to it; its order has no meaning.
    into: Vec<u32>,
}

#[derive(Clone, Debug)]
pub struct Graph {
    settings: Settings,
    random: Random,
    /// A row on the highest layer; none while there are no rows.
    entry: Option<u32>,
    /// By place, then by layer.
    nodes: Vec<Vec<Links>>,
    /// Empty lists of the row that was removed last.
    spare: Vec<Links>,
    /// Buffers for searches while learning.
    scratch: Buffers,
}

/// Not part of the state.
#[derive(Debug, Default)]
struct Buffers {
    pool: Pool,
    query: Vec<f64>,
    /// Candidates with their sums.
    candidates: Vec<(f64, u32)>,
    chosen: Vec<(f64, u32)>,
    pruning: Pruning,
}

/// Buffers for the links of one row while some are dropped.
#[derive(Debug, Default)]
struct Pruning {
    candidates: Vec<(f64, u32)>,
    chosen: Vec<(f64, u32)>,
    dropped: Vec<u32>,
}

impl Clone for Buffers {
    fn clone(&self) -> Self {
        Buffers::default()
    }
}

#[derive(Serialize, Deserialize)]
pub struct SavedGraph {
    random: Random,
    entry: Option<u32>,
    /// Outgoing links by place and layer.
    links: Vec<Vec<Vec<u32>>>,
}

fn by_sum(a: &(f64, u32), b: &(f64, u32)) -> std::cmp::Ordering {
    a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
}

fn delete(list: &mut Vec<u32>, place: u32) {
    if let Some(index) = list.iter().position(|&other| other == place) {
        list.swap_remove(index);
    }
}

/// Sums between stored rows.
#[derive(Clone, Copy)]
struct Rows<'a> {
    points: &'a Points,
    space: Space<'a>,
}

impl Rows<'_> {
    fn sum(&self, a: u32, b: u32) -> f64 {
        // Stored rows may lack values, which `complete: false` allows for; with none missing, the result is the same.
        let query = Query { values: self.points.row(a as usize), complete: self.points.is_plain() };
        sum_of(self.points, self.space, query, b as usize)
    }
}

impl Graph {
    pub fn new(settings: Settings) -> Self {
        Graph {
            settings,
            random: Random::new(settings.seed, LEVELS),
            entry: None,
            nodes: Vec::new(),
            spare: Vec::new(),
            scratch: Buffers::default(),
        }
    }

    pub fn links(&self, place: u32, layer: usize) -> &[u32] {
        self.nodes[place as usize].get(layer).map_or(&[], |links| &links.out)
    }

    fn most(&self, layer: usize) -> usize {
        if layer == 0 {
            2 * self.settings.m
        } else {
            self.settings.m
        }
    }

    fn layers(&self, place: u32) -> usize {
        self.nodes[place as usize].len()
    }

    /// Offer the nearest rows that a search finds.
    pub fn search(
        &self,
        points: &Points,
        space: Space<'_>,
        query: Query<'_>,
        nearest: &mut Nearest<'_>,
        most: usize,
        scratch: &mut Scratch,
    ) {
        let Some(entry) = self.entry else { return };
        let sum = |place: u32| sum_of(points, space, query, place as usize);
        let ef = self.settings.ef_search.max(most);
        if points.len() <= ef {
            // The walk would keep all rows, and may miss one of several equal rows that no link leads to.
            (0..points.len() as u32).for_each(|place| nearest.offer(sum(place), place as usize));
            return;
        }
        let mut pool = Pool::borrow(scratch);
        pool.start(entry, sum(entry), self.nodes.len());
        for layer in (1..self.layers(entry)).rev() {
            pool.walk(1, |place| self.links(place, layer), sum);
            pool.restart(self.nodes.len());
        }
        // A second start, in case that few links lead away from the first.
        pool.join(entry, sum(entry));
        pool.walk(ef, |place| self.links(place, 0), sum);
        for (sum, place) in pool.found() {
            nearest.offer(sum, place as usize);
        }
        pool.release(scratch);
    }

    fn level(&mut self) -> usize {
        let level = -ln(self.random.open_unit()) / ln(self.settings.m as f64);
        (level as usize).min(MOST_LAYERS - 1)
    }

    /// Add the row at a place, which is not in the graph.
    pub fn insert(&mut self, place: usize, points: &Points, space: Space<'_>) {
        let layers = self.level() + 1;
        if self.nodes.len() <= place {
            self.nodes.resize_with(place + 1, Vec::new);
        }
        self.nodes[place] = std::mem::take(&mut self.spare);
        self.nodes[place].resize_with(layers, Links::default);
        let new = place as u32;
        let Some(entry) = self.entry else {
            self.entry = Some(new);
            return;
        };
        let mut buffers = std::mem::take(&mut self.scratch);
        let rows = Rows { points, space };
        buffers.query.clear();
        buffers.query.extend_from_slice(points.row(place));
        let complete = points.is_plain();
        let top = self.layers(entry);
        {
            let Buffers { pool, query, candidates, chosen, pruning } = &mut buffers;
            let query = Query { values: query, complete };
            let sum = |other: u32| sum_of(points, space, query, other as usize);
            pool.start(entry, sum(entry), self.nodes.len());
            for layer in (0..top).rev() {
                let ef = if layer < layers { self.settings.ef_construction } else { 1 };
                if layer == 0 {
                    pool.join(entry, sum(entry));
                }
                pool.walk(ef, |place| self.links(place, layer), sum);
                if layer < layers {
                    candidates.clear();
                    candidates.extend(pool.found());
                    choose(candidates, self.settings.m, rows, chosen);
                    for &(distance, other) in chosen.iter() {
                        self.link(new, other, layer);
                        self.link_back(other, new, distance, layer, rows, pruning);
                    }
                }
                pool.restart(self.nodes.len());
            }
        }
        if layers > top {
            self.entry = Some(new);
        }
        self.scratch = buffers;
    }

    fn link(&mut self, from: u32, to: u32, layer: usize) {
        self.nodes[from as usize][layer].out.push(to);
        self.nodes[to as usize][layer].into.push(from);
    }

    /// Link to a new row, and drop the links that do not fit any more.
    fn link_back(
        &mut self,
        from: u32,
        to: u32,
        distance: f64,
        layer: usize,
        rows: Rows<'_>,
        pruning: &mut Pruning,
    ) {
        self.link(from, to, layer);
        let most = self.most(layer);
        let out = &self.nodes[from as usize][layer].out;
        if out.len() <= most {
            return;
        }
        let sum = |other: u32| if other == to { distance } else { rows.sum(from, other) };
        let Pruning { candidates, chosen, dropped } = pruning;
        candidates.clear();
        candidates.extend(out.iter().map(|&other| (sum(other), other)));
        candidates.sort_unstable_by(by_sum);
        choose(candidates, most, rows, chosen);
        dropped.clear();
        dropped.extend(candidates.iter().map(|candidate| candidate.1));
        dropped.retain(|&other| !chosen.iter().any(|&(_, kept)| kept == other));
        for &other in dropped.iter() {
            let into = &mut self.nodes[other as usize][layer].into;
            // The only way to a row is not given up.
            if into.len() == 1 {
                chosen.push((0.0, other));
            } else {
                delete(into, from);
            }
        }
        let out = &mut self.nodes[from as usize][layer].out;
        out.clear();
        out.extend(chosen.iter().map(|&(_, other)| other));
    }

    /// Remove the row at a place, which still holds the row, and repair the links around it.
    pub fn remove(&mut self, place: usize, points: &Points, space: Space<'_>) {
        let Some(mut layers) = self.nodes.get_mut(place).map(std::mem::take) else { return };
        let removed = place as u32;
        let rows = Rows { points, space };
        for (layer, links) in layers.iter_mut().enumerate() {
            for &other in &links.out {
                delete(&mut self.nodes[other as usize][layer].into, removed);
            }
            // Loaded graphs list incoming links in another order.
            links.into.sort_unstable();
            for &other in &links.into {
                delete(&mut self.nodes[other as usize][layer].out, removed);
            }
            for &other in &links.into {
                self.replace_link(other, &links.out, layer, rows);
            }
            for &other in &links.out {
                if self.nodes[other as usize][layer].into.is_empty() {
                    self.reconnect(other, &links.out, &links.into, layer, rows);
                }
            }
        }
        if self.entry == Some(removed) {
            // The first of the highest rows; rare, because few rows are on the highest layer.
            let highest = (0..self.nodes.len()).rev().max_by_key(|&place| self.nodes[place].len());
            self.entry = highest.filter(|&place| !self.nodes[place].is_empty()).map(|place| place as u32);
        }
        // The lists are filled again at once, with the next row at this place.
        layers.iter_mut().for_each(|links| {
            links.out.clear();
            links.into.clear();
        });
        self.spare = layers;
    }

    /// Give a row that lost its link to a removed row one of the links of that row.
    fn replace_link(&mut self, from: u32, offered: &[u32], layer: usize, rows: Rows<'_>) {
        let out = &self.nodes[from as usize][layer].out;
        let mut candidates = std::mem::take(&mut self.scratch.candidates);
        candidates.clear();
        candidates.extend(
            offered
                .iter()
                .filter(|&&other| other != from && !out.contains(&other))
                .map(|&other| (rows.sum(from, other), other)),
        );
        candidates.sort_unstable_by(by_sum);
        let is_diverse =
            |&&(sum, other): &&(f64, u32)| out.iter().all(|&kept| is_apart(sum, rows.sum(kept, other)));
        let found = candidates.iter().find(is_diverse).or_else(|| candidates.first()).copied();
        self.scratch.candidates = candidates;
        if let Some((_, other)) = found {
            self.link(from, other, layer);
        }
    }

    /// Link to a row that no row links to any more, from the nearest row around it.
    fn reconnect(&mut self, to: u32, siblings: &[u32], parents: &[u32], layer: usize, rows: Rows<'_>) {
        let near = self.nodes[to as usize][layer].out.iter().chain(siblings).chain(parents);
        let nearest = near.filter(|&&other| other != to).map(|&other| (rows.sum(other, to), other)).min_by(by_sum);
        if let Some((_, from)) = nearest {
            self.link(from, to, layer);
        }
    }

    pub fn save(&self) -> SavedGraph {
        let links = self.nodes.iter().map(|node| node.iter().map(|links| links.out.clone()).collect()).collect();
        SavedGraph { random: self.random.clone(), entry: self.entry, links }
    }

    /// None if the state could not have been saved.
    pub fn load(&self, saved: SavedGraph, rows: usize) -> Option<Graph> {
        let SavedGraph { random, entry, links } = saved;
        let highest = links.iter().map(Vec::len).max().unwrap_or(0);
        let is_entry = match entry {
            None => rows == 0,
            Some(entry) => links.get(entry as usize).is_some_and(|layers| layers.len() == highest),
        };
        let layered = links.iter().all(|layers| (1..=MOST_LAYERS).contains(&layers.len()));
        if links.len() != rows || !is_entry || !layered {
            return None;
        }
        let mut nodes: Vec<Vec<Links>> =
            links.iter().map(|layers| layers.iter().map(|_| Links::default()).collect()).collect();
        let mut seen = vec![u64::MAX; rows];
        let mut stamp = 0;
        for (from, layers) in links.into_iter().enumerate() {
            for (layer, out) in layers.into_iter().enumerate() {
                for &to in &out {
                    let target = nodes.get_mut(to as usize)?.get_mut(layer)?;
                    if to as usize == from || seen[to as usize] == stamp {
                        return None;
                    }
                    seen[to as usize] = stamp;
                    target.into.push(from as u32);
                }
                nodes[from][layer].out = out;
                stamp += 1;
            }
        }
        Some(Graph {
            settings: self.settings,
            random,
            entry,
            nodes,
            spare: Vec::new(),
            scratch: Buffers::default(),
        })
    }

    pub fn memory(&self) -> usize {
        let lists = |links: &Links| 4 * (links.out.capacity() + links.into.capacity());
        let node = |node: &Vec<Links>| {
            24 + node.capacity() * std::mem::size_of::<Links>() + node.iter().map(lists).sum::<usize>()
        };
        self.nodes.iter().map(node).sum::<usize>() + 24 * (self.nodes.capacity() - self.nodes.len())
    }
}

/// Whether a candidate is not nearer to a chosen row than to the new row. Equality counts, unless the three are identical:
/// with identical rows, the strict comparison of the paper would choose nothing but their copies, and no search that meets
/// one of them would find a way out.
fn is_apart(sum: f64, sum_to_chosen: f64) -> bool {
    sum < sum_to_chosen || (sum == sum_to_chosen && sum > 0.0)
}

/// Algorithm 4: of candidates by ascending sum, those that are closer to the new row than to a chosen one, then the
/// nearest of the others.
fn choose(candidates: &[(f64, u32)], most: usize, rows: Rows<'_>, chosen: &mut Vec<(f64, u32)>) {
    chosen.clear();
    for &(sum, place) in candidates {
        if chosen.len() == most {
            return;
        }
        if chosen.iter().all(|&(_, other)| is_apart(sum, rows.sum(other, place))) {
            chosen.push((sum, place));
        }
    }
    let diverse = chosen.len();
    for &(sum, place) in candidates {
        if chosen.len() == most {
            return;
        }
        if !chosen[..diverse].iter().any(|&(_, other)| other == place) {
            chosen.push((sum, place));
        }
    }
}
