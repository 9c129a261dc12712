//! The text format of Vowpal Wabbit.
//!
//! `[label [importance [base]]] ['tag]|[namespace[:scale]] feature[:value] … |…`
//!
//! The column of a feature is the hash of its name with the hash of its namespace as seed, cut to `bits`, exactly as
//! VW's default (`--hash strings`): murmur3, or for an integer name that number added to the seed.
//! As in VW, a value that is not a number is hashed with the name as seed and counts 1, whatever the scale; features
//! without a name get consecutive columns, starting with the namespace's own; a word that touches the first bar is the
//! tag; text before a tab in front of the bar is dropped. Where VW only warns (a label that is not a number, a NaN value,
//! an extra colon), the line is refused, with the position.

use std::sync::Arc;

use super::block::Block;
use super::line_features::{LineFeatures, Namespaces, NAMELESS};
use super::murmur::murmur3;
use super::names::Names;
use super::number::number;
use super::parser::{shown, Format, Problem};
use super::scan::name_end;

/// The column of the constant feature, before it is cut to `bits`.
pub const CONSTANT: u32 = 11_650_396;

/// The hash of a name with a seed, as with VW's `--hash strings`.
pub fn hash_name(name: &[u8], seed: u64) -> u64 {
    if name.iter().all(u8::is_ascii_digit) {
        let value =
            name.iter().fold(0u64, |value, &digit| value.wrapping_mul(10).wrapping_add(u64::from(digit - b'0')));
        return value.wrapping_add(seed);
    }
    u64::from(murmur3(name, seed as u32))
}

#[derive(Clone, Debug)]
pub struct VowpalWabbit {
    mask: u64,
    constant: bool,
    /// Whether labels are costs of classes.
    costs: bool,
    names: Names,
    features: Option<Arc<LineFeatures>>,
    namespaces: Namespaces,
}

impl VowpalWabbit {
    /// Columns of `bits` bits, 1 to 28; each row may have the constant feature.
    pub fn new(bits: u32, constant: bool) -> Self {
        VowpalWabbit {
            mask: (1 << bits.clamp(1, 28)) - 1,
            constant,
            costs: false,
            names: Names::default(),
            features: None,
            namespaces: Namespaces::default(),
        }
    }

    /// Select namespaces, and make n-grams and products of their features.
    pub fn with_features(mut self, features: Arc<LineFeatures>) -> Self {
        self.features = Some(features);
        self
    }

    /// Read labels as costs of classes: `class:cost …`, as of `--csoaa`.
    pub fn with_costs(mut self) -> Self {
        self.costs = true;
        self
    }

    /// The namespaces of the lines so far by their first byte, where features are selected or combined.
    pub fn seen(&self) -> &[(u8, Vec<u8>)] {
        self.namespaces.seen()
    }

    /// Number of columns.
    pub fn width(&self) -> usize {
        self.mask as usize + 1
    }

    /// Label, weight and tag: the text before the first bar.
    fn head<'a>(&self, bytes: &'a [u8], start: usize, bar: usize) -> Result<Head<'a>, Box<Problem>> {
        let head = &bytes[start..bar];
        let from = memchr::memrchr(b'\t', head).map_or(0, |tab| tab + 1);
        let mut fields = [(0, &head[..0]); 4];
        let mut count = 0;
        let mut at = from;
        for field in head[from..].split(|&byte| byte == b' ') {
            if !field.is_empty() {
                if count == fields.len() {
                    return Problem::new(start + at, "more than a label, an importance, a base and a tag");
                }
                fields[count] = (start + at, field);
                count += 1;
            }
            at += field.len() + 1;
        }
        let mut tag: &[u8] = b"";
        if let Some(&(place, last)) = fields[..count].last() {
            if last[0] == b'\'' || place + last.len() == bar {
                tag = last.strip_prefix(b"'").unwrap_or(last);
                count -= 1;
            }
        }
        let field = |place: usize, what: &str, absent: f64| match fields[..count].get(place) {
            None => Ok(absent),
            Some(&(place, text)) => match number(text).filter(|number| number.is_finite()) {
                Some(number) => Ok(number),
                None => Problem::new(place, format!("the {what} must be a number, got {}", shown(text))),
            },
        };
        let label = field(0, "label", f64::NAN)?;
        let weight = field(1, "importance", 1.0)?;
        if weight < 0.0 {
            return Problem::new(fields[1].0, format!("the importance must not be negative, got {weight}"));
        }
        if field(2, "base", 0.0)? != 0.0 {
            return Problem::new(
                fields[2].0,
                format!("a base other than 0 is not supported, got {}", shown(fields[2].1)),
            );
        }
        if count > 3 {
            return Problem::new(fields[3].0, format!("a tag begins with ', got {}", shown(fields[3].1)));
        }
        Ok(Head { label, weight, tag })
    }

    /// Costs and tag: the text before the first bar. A class without a cost has an unknown one.
    fn costs<'a>(
        &self,
        bytes: &'a [u8],
        start: usize,
        bar: usize,
        out: &mut Block,
    ) -> Result<Head<'a>, Box<Problem>> {
        let head = &bytes[start..bar];
        let from = memchr::memrchr(b'\t', head).map_or(0, |tab| tab + 1);
        let (mut tag, mut at): (&[u8], usize) = (b"", start + from);
        for word in head[from..].split(|&byte| byte == b' ') {
            let place = at;
            at += word.len() + 1;
            if word.is_empty() {
                continue;
            }
            if word[0] == b'\'' || place + word.len() == bar {
                tag = word.strip_prefix(b"'").unwrap_or(word);
                continue;
            }
            if !tag.is_empty() {
                return Problem::new(
                    place,
                    format!("a tag must be the last word before the bar, got {}", shown(word)),
                );
            }
            let (name, cost) = match memchr::memchr(b':', word) {
                Some(colon) => (&word[..colon], Some(&word[colon + 1..])),
                None => (word, None),
            };
            let class = std::str::from_utf8(name).ok().and_then(|name| name.parse::<u32>().ok());
            let Some(class) = class.filter(|_| !name.starts_with(b"+")) else {
                let words = match word {
                    b"shared" => "a line 'shared' is for features by class: use by_class=True".into(),
                    _ => format!("a label must be class:cost with an integer class, got {}", shown(word)),
                };
                return Problem::new(place, words);
            };
            let cost = match cost.map(number) {
                None => f64::NAN,
                Some(Some(cost)) if cost.is_finite() => cost,
                Some(_) => {
                    return Problem::new(place, format!("a cost must be a finite number, got {}", shown(word)))
                }
            };
            if !out.costs.push(class, cost) {
                return Problem::new(place, format!("a class must be listed once, got {class} twice"));
            }
        }
        Ok(Head { label: f64::NAN, weight: 1.0, tag })
    }

    /// The name and scale of a namespace, which follow a bar, and their end.
    fn namespace(&self, bytes: &[u8], at: usize, end: usize) -> Result<(u64, f64, usize), Box<Problem>> {
        let name = name_end(bytes, at, end);
        if name == at {
            return match bytes[at..end].first() {
                Some(b':') => Problem::new(at, "a namespace must have a name before ':'"),
                _ => Ok((0, 1.0, at)),
            };
        }
        let seed = hash_name(&bytes[at..name], 0);
        if name == end || bytes[name] != b':' {
            return Ok((seed, 1.0, name));
        }
        let stop = name_end(bytes, name + 1, end);
        let text = &bytes[name + 1..stop];
        match number(text).filter(|scale| scale.is_finite()) {
            Some(_) if stop < end && bytes[stop] == b':' => Problem::new(stop, "a second ':' in a namespace"),
            Some(scale) => Ok((seed, scale, stop)),
            None => {
                Problem::new(name + 1, format!("the scale of a namespace must be a number, got {}", shown(text)))
            }
        }
    }

    /// The features of a namespace, in the general form.
    fn features(
        &self,
        bytes: &[u8],
        from: usize,
        end: usize,
        seed: u64,
        scale: f64,
        out: &mut Block,
    ) -> Result<(), Box<Problem>> {
        let mut here = from;
        let mut nameless = 0;
        while here < end {
            match bytes[here] {
                b' ' | b'\t' => here += 1,
                _ => {
                    let stop = name_end(bytes, here, end);
                    let mut column = match stop == here {
                        true => {
                            nameless += 1;
                            seed.wrapping_add(nameless - 1)
                        }
                        false => hash_name(&bytes[here..stop], seed),
                    };
                    here = stop;
                    let mut value = scale;
                    if here < end && bytes[here] == b':' {
                        (column, value, here) = self.valued(bytes, column, here, end, scale)?;
                    }
                    let column = (column & self.mask) as u32;
                    if value == scale && scale != 0.0 {
                        out.push_same(column);
                    } else if value != 0.0 {
                        out.push(column, value);
                    }
                }
            }
        }
        Ok(())
    }

    /// A feature with a value, from its colon on: column, value and end.
    #[inline]
    fn valued(
        &self,
        bytes: &[u8],
        column: u64,
        colon: usize,
        end: usize,
        scale: f64,
    ) -> Result<(u64, f64, usize), Box<Problem>> {
        let stop = name_end(bytes, colon + 1, end);
        let text = &bytes[colon + 1..stop];
        if stop < end && bytes[stop] == b':' {
            return Problem::new(stop, "a second ':' in a feature");
        }
        match number(text) {
            Some(value) if (value * scale).is_finite() => Ok((column, value * scale, stop)),
            Some(value) if value.is_finite() => Problem::new(
                colon + 1,
                format!("a value times its scale must be finite, got {value:?} times {scale:?}"),
            ),
            Some(value) => Problem::new(colon + 1, format!("a value must be finite, got {value:?}")),
            None if text.is_empty() => Problem::new(colon + 1, "a value must follow ':'"),
            None => Ok((hash_name(text, column), 1.0, stop)),
        }
    }
}

impl VowpalWabbit {
    /// A line whose namespaces are selected or whose features are combined.
    fn line_of_groups(
        &mut self,
        bytes: &[u8],
        bar: usize,
        end: usize,
        head: &Head<'_>,
        features: &LineFeatures,
        out: &mut Block,
    ) -> Result<(), Box<Problem>> {
        self.namespaces.clear();
        let mut at = bar;
        while at < end {
            let (seed, scale, here) = self.namespace(bytes, at + 1, end)?;
            let name = &bytes[at + 1..name_end(bytes, at + 1, end)];
            at = memchr::memchr(b'|', &bytes[here..end]).map_or(end, |place| here + place);
            if features.ignored.has(name.first().copied().unwrap_or(NAMELESS)) {
                continue;
            }
            out.set_same(scale);
            let from = out.flush();
            if features.names.is_some() {
                self.features_with_names(bytes, here, at, (name, seed, scale), out)?;
            } else if scale == 0.0 || !self.names.hash(bytes, here..at, seed, self.mask as u32, out) {
                self.features(bytes, here, at, seed, scale, out)?;
            }
            self.namespaces.add(name, from, out.flush());
        }
        let groups = match self.namespaces.arrange(features, out) {
            Ok(groups) => groups,
            Err(count) => {
                return Problem::new(
                    bar,
                    format!("{count} products and n-grams of one line are more than max_products"),
                )
            }
        };
        if features.has_products() {
            out.close_groups(head.label, head.weight, head.tag, groups);
            return Ok(());
        }
        out.set_same(1.0);
        if self.constant {
            out.push_same(CONSTANT & self.mask as u32);
        }
        out.close(head.label, head.weight, head.tag).or_else(|column| Problem::overflow(bar, column))
    }
}

impl VowpalWabbit {
    /// The features of a namespace, one by one, each entry with its name.
    fn features_with_names(
        &mut self,
        bytes: &[u8],
        from: usize,
        end: usize,
        (name, seed, scale): (&[u8], u64, f64),
        out: &mut Block,
    ) -> Result<(), Box<Problem>> {
        let (mut here, mut nameless) = (from, 0u64);
        while here < end {
            if matches!(bytes[here], b' ' | b'\t') {
                here += 1;
                continue;
            }
            let stop = name_end(bytes, here, end);
            let is_nameless = stop == here;
            let after = match stop < end && bytes[stop] == b':' {
                true => name_end(bytes, stop + 1, end),
                false => stop,
            };
            let before = out.flush();
            let seed = if is_nameless { seed.wrapping_add(nameless) } else { seed };
            self.features(bytes, here, after.max(here + 1), seed, scale, out)?;
            if after < end && bytes[after] == b':' {
                return Problem::new(after, "a second ':' in a feature");
            }
            if out.flush() > before {
                let is_number = after == stop || number(&bytes[stop + 1..after]).is_some();
                match is_nameless {
                    true => self.namespaces.name(name, nameless.to_string().as_bytes()),
                    false => self.namespaces.name(name, &bytes[here..if is_number { stop } else { after }]),
                }
            }
            nameless += u64::from(is_nameless);
            here = after.max(here + 1);
        }
        Ok(())
    }
}

struct Head<'a> {
    label: f64,
    weight: f64,
    tag: &'a [u8],
}

impl Format for VowpalWabbit {
    fn line(&mut self, bytes: &[u8], start: usize, end: usize, out: &mut Block) -> Result<(), Box<Problem>> {
        let Some(bar) = memchr::memchr(b'|', &bytes[start..end]).map(|place| start + place) else {
            return Problem::new(
                start,
                format!("a line must have a bar '|' before its features, got {}", shown(&bytes[start..end])),
            );
        };
        let head = match self.costs {
            true => self.costs(bytes, start, bar, out)?,
            false => self.head(bytes, start, bar)?,
        };
        self.body(bytes, bar, end, &head, out)?;
        if self.costs {
            out.costs.close();
        }
        Ok(())
    }
}

impl VowpalWabbit {
    /// The features of a line, from its first bar on.
    fn body(
        &mut self,
        bytes: &[u8],
        bar: usize,
        end: usize,
        head: &Head<'_>,
        out: &mut Block,
    ) -> Result<(), Box<Problem>> {
        if let Some(features) = self.features.clone() {
            return self.line_of_groups(bytes, bar, end, head, &features, out);
        }
        let mut at = bar;
        while at < end {
            // At a bar.
            let (seed, scale, here) = self.namespace(bytes, at + 1, end)?;
            out.set_same(scale);
            at = memchr::memchr(b'|', &bytes[here..end]).map_or(end, |place| here + place);
            if scale == 0.0 || !self.names.hash(bytes, here..at, seed, self.mask as u32, out) {
                self.features(bytes, here, at, seed, scale, out)?;
            }
        }
        out.set_same(1.0);
        if self.constant {
            out.push_same(CONSTANT & self.mask as u32);
        }
        out.close(head.label, head.weight, head.tag).or_else(|column| Problem::overflow(bar, column))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Parser;
    use super::*;
    use proptest::prelude::*;

    fn parsed(text: &[u8], bits: u32, constant: bool) -> (Block, Parser<VowpalWabbit>) {
        let mut parser = Parser::new(VowpalWabbit::new(bits, constant), true);
        let mut block = Block::default();
        parser.parse(text, true, &mut block);
        (block, parser)
    }

    /// The numbers are those of VW 9.11 for the same lines.
    #[test]
    fn columns_are_those_of_vowpal_wabbit() {
        let (block, parser) =
            parsed(b"1 |a b c:2\n-1 2 'tag| 123 b\n\r\n|a:2 b:3 123\r\n0.5 t|12 5 x |a b:foo :3 e:0", 18, false);
        assert_eq!(parser.refused().0, 0);
        assert_eq!(block.starts, [0, 2, 4, 6, 10]);
        assert_eq!(block.indices[..6], [120_964, 144_016, 123, 163_331, 92_717, 144_016]);
        assert_eq!(block.values[..6], [2.0, 1.0, 1.0, 1.0, 2.0, 6.0]);
        // The namespace's own column, 1009084850 cut to 18 bits, is that of the feature without a name.
        assert_eq!(block.indices[6..], [17, 1_009_084_850 & 0x3ffff, 98_015, 167_920]);
        assert_eq!(block.values[6..], [1.0, 3.0, 1.0, 1.0]);
        assert!(block.labels[2].is_nan());
        assert_eq!((block.labels[0], block.labels[1], block.labels[3]), (1.0, -1.0, 0.5));
        assert_eq!((block.weights, block.tags), (vec![1.0, 2.0, 1.0, 1.0], b"tagt".to_vec()));
    }

    #[test]
    fn costs_of_classes() {
        let mut parser = Parser::new(VowpalWabbit::new(18, false).with_costs(), true);
        let mut block = Block::default();
        parser.parse(
            b"1:0.5 3:-2 7 'tag|a b\nx:1 |a b\n1:nan |a b\n1:1 1:2 |a b\nshared |a b\n2:1 |a b:nan\n|a b\n",
            true,
            &mut block,
        );
        let words: Vec<&str> = parser.refused().1.iter().map(|refusal| refusal.message.as_str()).collect();
        let wanted = ["integer class", "finite number", "1 twice", "by_class", "value must be finite"];
        assert!(words.iter().zip(wanted).all(|(words, wanted)| words.contains(wanted)), "{words:?}");
        assert_eq!((block.len(), words.len()), (2, 5));
        assert_eq!((&block.costs.classes[..], &block.costs.ends[..]), (&[1, 3, 7][..], &[3, 3][..]));
        assert_eq!(block.costs.values[..2], [0.5, -2.0]);
        assert!(block.costs.values[2].is_nan());
        assert_eq!(block.tags, b"tag");
    }

    #[test]
    fn refusals_name_the_place() {
        for (line, column, message) in [
            ("x |a b", 1, "the label must be a number, got 'x'"),
            ("1 -2 |a b", 3, "the importance must not be negative"),
            ("1 1 0.5 |a b", 5, "a base other than 0"),
            ("1 2 3 4 5 |a", 9, "more than a label"),
            ("1 |a b:nan", 8, "a value must be finite"),
            ("1 |a b:1e999", 8, "a value must be finite"),
            ("1 |a:1e200 b:1e200", 14, "a value times its scale must be finite"),
            ("1 |a b:1:2", 9, "a second ':'"),
            ("1 |a b: c", 8, "a value must follow"),
            ("1 |a:x b", 6, "the scale of a namespace"),
            ("1 |:2 b", 4, "a namespace must have a name"),
            ("a,b,c", 1, "a line must have a bar"),
            ("1 |a b:1e308 c b:1e308", 3, "the values of column 144016 must add up to a finite number"),
        ] {
            let (block, parser) = parsed(format!("1 |a b\n{line}\n1 |a b\n").as_bytes(), 18, true);
            let (refused, described) = parser.refused();
            assert_eq!((refused, block.len()), (1, 2), "{line}");
            assert_eq!((described[0].line, described[0].column), (2, column), "{line}: {}", described[0].message);
            assert!(described[0].message.starts_with(message), "{line}: {}", described[0].message);
        }
    }

    proptest! {
        /// Any bytes, cut anywhere: the same rows as uncut, and no panic.
        #[test]
        fn how_the_bytes_are_cut_changes_nothing(
            text in prop::collection::vec(prop_oneof![
                prop::sample::select(b"1 |a:b.\n\r\t'-e25".to_vec()).prop_map(|byte| vec![byte]),
                any::<u8>().prop_map(|byte| vec![byte]),
                Just(b" a:1e308".to_vec()),
                Just(b"\n1 |b a".to_vec()),
            ], 0..300),
            cuts in prop::collection::vec(0..300usize, 0..5),
        ) {
            let text = text.concat();
            let (whole, parser) = parsed(&text, 20, true);
            whole.assert_sound(1 << 20);
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let mut pieces = Parser::new(VowpalWabbit::new(20, true), true);
            let mut block = Block::default();
            for pair in cuts.windows(2) {
                pieces.parse(&text[pair[0]..pair[1]], false, &mut block);
            }
            pieces.parse(b"", true, &mut block);
            prop_assert_eq!(pieces.refused(), parser.refused());
            prop_assert_eq!(&block.starts, &whole.starts);
            prop_assert_eq!(&block.indices, &whole.indices);
            prop_assert_eq!(&block.tags, &whole.tags);
            let bits = |numbers: &[f64]| numbers.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
            prop_assert_eq!(bits(&block.values), bits(&whole.values));
            prop_assert_eq!(bits(&block.labels), bits(&whole.labels));
        }
    }
}
