//! RandomTree: classes by a random decision tree (Domingos and Hulten, 2000, "Mining high-speed data streams", KDD,
//! section 4.1; with numeric features as in MOA).
//!
//! From the root on, each node splits on a random feature: a number at a threshold that is uniform in the rest
//! of its range, a nominal one, at most once on a path, into all its values. From `first_leaf_level` on a fraction of
//! the nodes are leaves, and at `max_tree_depth` all are. Leaves have random classes. Examples are uniform: numbers
//! in [0, 1], nominal values with equal probability.

use super::{seed, seed_model, StreamSchema, MODEL, N_CLASSES, SAMPLE, SEED, SEED_MODEL};
use crate::declaration::{Built, Declaration, Role};
use crate::fault::{Fault, Result};
use crate::generator::Generator;
use crate::merging::Merge;
use crate::numeric::random::Random;
use crate::parameter::{Arguments, Bounds, Default, Kind, Parameter};
use crate::schema::Name;

/// More nodes than anyone wants; a tree that would have them is refused.
const MOST_NODES: usize = 1_000_000;
const ANY: i64 = 1_000_000_000;

pub static DECLARATION: Declaration = Declaration {
    name: "synth.RandomTree",
    role: Role::Generator,
    words: "Classes by a random decision tree over numbers and nominal values (Domingos and Hulten, 2000)",
    merge: Merge::GENERATOR,
    parameters: &[
        SEED,
        SEED_MODEL,
        N_CLASSES,
        Parameter::new(
            "n_num_features",
            Kind::Integer { low: 0, high: 100_000 },
            Default::Integer(5),
            "number of numeric features",
        ),
        Parameter::new(
            "n_cat_features",
            Kind::Integer { low: 0, high: 100_000 },
            Default::Integer(5),
            "number of nominal features",
        ),
        Parameter::new(
            "n_categories_per_feature",
            Kind::Integer { low: 2, high: ANY },
            Default::Integer(5),
            "number of values of each nominal feature",
        ),
        Parameter::new(
            "max_tree_depth",
            Kind::Integer { low: 0, high: ANY },
            Default::Integer(5),
            "level at which all nodes are leaves; the root has level 0",
        ),
        Parameter::new(
            "first_leaf_level",
            Kind::Integer { low: 0, high: ANY },
            Default::Integer(3),
            "lowest level at which nodes may be leaves",
        ),
        Parameter::new(
            "fraction_leaves_per_level",
            Kind::Float(Bounds::UNIT),
            Default::Float(0.15),
            "probability that a node from that level on is a leaf",
        ),
    ],
    build: |arguments| {
        let (numbers, nominal) = (arguments.size("n_num_features")?, arguments.size("n_cat_features")?);
        let categories = arguments.size("n_categories_per_feature")?;
        let who = arguments.who;
        if numbers + nominal == 0 {
            return Err(Fault::value(format!(
                "{who}: n_num_features or n_cat_features must be >= 1, got 0 and 0"
            )));
        }
        if nominal.saturating_mul(categories) > MOST_NODES {
            return Err(Fault::value(format!(
                "{who}: nominal values must be at most {MOST_NODES}, got {nominal} features of {categories}"
            )));
        }
        let names = (0..numbers).map(|n| format!("x_num_{n}")).chain((0..nominal).map(|n| format!("x_cat_{n}")));
        let values: Vec<String> = (1..=categories).map(|value| format!("value{value}")).collect();
        Ok(Built::Generator(Box::new(RandomTree {
            schema: StreamSchema {
                names: names.map(|name| Name::from(name.as_str())).collect(),
                values: (0..numbers + nominal).map(|f| (f >= numbers).then(|| values.clone())).collect(),
                classes: arguments.size("n_classes")?,
            },
            nodes: tree(arguments, numbers, nominal, categories)?,
            numbers,
            categories: categories as u32,
            random: Random::new(seed(arguments)?, SAMPLE),
        })))
    },
};

struct RandomTree {
    schema: StreamSchema,
    nodes: Vec<Node>,
    /// How many features are numbers; they come first.
    numbers: usize,
    categories: u32,
    random: Random,
}

/// Children are adjacent. Nodes are in the order of levels, so that a parent is before its children.
struct Node {
    parent: usize,
    level: i64,
    content: Content,
}

enum Content {
    Leaf(f64),
    /// Below the threshold to the first child, else to the second.
    Number {
        feature: usize,
        threshold: f64,
        first: usize,
    },
    Nominal {
        feature: usize,
        first: usize,
    },
}

/// Level by level, so that a tree that grows without end is soon known by its number of nodes.
fn tree(arguments: &Arguments<'_>, numbers: usize, nominal: usize, categories: usize) -> Result<Vec<Node>> {
    let depth = arguments.integer("max_tree_depth")?;
    let first_leaf_level = arguments.integer("first_leaf_level")?;
    let leaves = arguments.float("fraction_leaves_per_level")?;
    let classes = arguments.size("n_classes")? as u32;
    let mut random = Random::new(seed_model(arguments)?, MODEL);
    let mut nodes = vec![Node { parent: 0, level: 0, content: Content::Leaf(0.0) }];
    let mut place = 0;
    while place < nodes.len() {
        let level = nodes[place].level;
        let ends = level >= depth || (level >= first_leaf_level && random.chance(leaves));
        let content = match (ends, split(&nodes, place, numbers, nominal, &mut random)) {
            (false, Some(content)) => content,
            _ => Content::Leaf(f64::from(random.below(classes))),
        };
        let children = match content {
            Content::Leaf(_) => 0,
            Content::Number { .. } => 2,
            Content::Nominal { .. } => categories,
        };
        if nodes.len() + children > MOST_NODES {
            return Err(Fault::value(format!(
                "{}: the tree must have at most {MOST_NODES} nodes; lower max_tree_depth",
                arguments.who
            )));
        }
        nodes[place].content = content;
        nodes.extend((0..children).map(|_| Node { parent: place, level: level + 1, content: Content::Leaf(0.0) }));
        place += 1;
    }
    Ok(nodes)
}

/// What a node asks: a number, or a nominal feature that no node above it asks. None if nothing is left.
fn split(nodes: &[Node], place: usize, numbers: usize, nominal: usize, random: &mut Random) -> Option<Content> {
    let first = nodes.len();
    let mut asked = Vec::new();
    let mut at = place;
    while at != 0 {
        let parent = nodes[at].parent;
        if let Content::Nominal { feature, .. } = nodes[parent].content {
            asked.push(feature);
        }
        at = parent;
    }
    let left = numbers + nominal - asked.len();
    if left == 0 {
        return None;
    }
    let chosen = random.below(left as u32) as usize;
    if chosen < numbers {
        let (low, high) = range(nodes, place, chosen);
        return Some(Content::Number { feature: chosen, threshold: random.between(low, high), first });
    }
    let mut free = (numbers..numbers + nominal).filter(|feature| !asked.contains(feature));
    free.nth(chosen - numbers).map(|feature| Content::Nominal { feature, first })
}

/// What the splits above a node leave of a number's range.
fn range(nodes: &[Node], place: usize, wanted: usize) -> (f64, f64) {
    let (mut low, mut high) = (0.0f64, 1.0f64);
    let mut at = place;
    while at != 0 {
        let parent = nodes[at].parent;
        if let Content::Number { feature, threshold, first } = nodes[parent].content {
            match (feature == wanted, at == first) {
                (true, true) => high = high.min(threshold),
                (true, false) => low = low.max(threshold),
                _ => {}
            }
        }
        at = parent;
    }
    (low, high)
}

fn class_of(nodes: &[Node], x: &[f64]) -> f64 {
    let mut at = 0;
    loop {
        at = match nodes[at].content {
            Content::Leaf(class) => return class,
            Content::Number { feature, threshold, first } => first + usize::from(x[feature] >= threshold),
            Content::Nominal { feature, first } => first + x[feature] as usize,
        };
    }
}

impl Generator for RandomTree {
    fn schema(&self) -> &StreamSchema {
        &self.schema
    }

    fn draw(&mut self, x: &mut [f64]) -> f64 {
        let (numbers, nominal) = x.split_at_mut(self.numbers);
        for value in numbers {
            *value = self.random.unit();
        }
        for value in nominal {
            *value = f64::from(self.random.below(self.categories));
        }
        class_of(&self.nodes, x)
    }

    fn rule(&self, x: &[f64]) -> Option<f64> {
        let known = |&code: &f64| code >= 0.0 && code < f64::from(self.categories);
        x[self.numbers..].iter().all(known).then(|| class_of(&self.nodes, x))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synth::tests::{built, rule};

    #[test]
    fn an_example_goes_down_to_its_leaf() {
        // x₀ >= 0.5? no: the nominal x₁ decides; yes: class 2.
        let node = |parent, level, content| Node { parent, level, content };
        let nodes = [
            node(0, 0, Content::Number { feature: 0, threshold: 0.5, first: 1 }),
            node(0, 1, Content::Nominal { feature: 1, first: 3 }),
            node(0, 1, Content::Leaf(2.0)),
            node(1, 2, Content::Leaf(0.0)),
            node(1, 2, Content::Leaf(1.0)),
        ];
        assert_eq!(class_of(&nodes, &[0.7, 0.0]), 2.0);
        assert_eq!(class_of(&nodes, &[0.5, 0.0]), 2.0);
        assert_eq!(class_of(&nodes, &[0.2, 1.0]), 1.0);
        assert_eq!(class_of(&nodes, &[0.2, 0.0]), 0.0);
        assert_eq!(range(&nodes, 3, 0), (0.0, 0.5));
        assert_eq!(range(&nodes, 2, 0), (0.5, 1.0));
    }

    #[test]
    fn a_root_alone_has_one_class_and_nominal_features_run_out() {
        let stump = r#"{"name": "synth.RandomTree", "parameters": {"max_tree_depth": 0}}"#;
        let (mut x, mut stream) = ([0.0; 10], built(stump));
        let class = stream.draw(&mut x);
        assert!((0..100).all(|_| stream.draw(&mut x) == class));
        // One nominal feature of two values: the tree has three nodes however deep it may be.
        let shallow = r#"{"name": "synth.RandomTree", "parameters": {"n_num_features": 0, "n_cat_features": 1,
            "n_categories_per_feature": 2, "max_tree_depth": 1000, "first_leaf_level": 1000}}"#;
        assert!(rule(shallow, &[1.0]).is_some());
        assert_eq!(rule(shallow, &[2.0]), None);
    }
}
