//! The text format of SVMlight and libsvm: `label [qid:number] index:value … [# comment]`.
//!
//! Query ids are ignored. Indices may be in any order; the values of a duplicate index are added.

use super::block::Block;
use super::number::number;
use super::parser::{shown, Format, Problem};

/// The highest index in rows of the core.
const HIGHEST: u64 = (1 << 28) - 1;

#[derive(Clone, Debug)]
pub struct Libsvm {
    /// The index of the first column: 0 or 1, or None until it is detected.
    base: Option<u32>,
    /// The maximum number of columns, if known.
    columns: Option<u32>,
}

impl Libsvm {
    pub fn new(base: Option<u32>, columns: Option<u32>) -> Self {
        Libsvm { base, columns }
    }

    /// The index of the first column, if known.
    pub fn base(&self) -> Option<u32> {
        self.base
    }

    /// Detect the index of the first column from the first bytes of a file: 0 if it occurs, otherwise 1.
    pub fn look(&mut self, bytes: &[u8]) {
        if self.base.is_some() {
            return;
        }
        let lines = bytes.split(|&byte| byte == b'\n').map(|line| before_comment(line, line.len()));
        let zero = |(place, line): (usize, &&[u8])| matches!(line.get(place.wrapping_sub(1)), Some(b' ' | b'\t'));
        let found =
            lines.into_iter().any(|line| memchr::memmem::find_iter(line, b"0:").any(|place| zero((place, &line))));
        self.base = Some(u32::from(!found));
    }

    fn entry(&self, bytes: &[u8], at: usize, stop: usize) -> Result<Option<(u32, f64)>, Box<Problem>> {
        let text = &bytes[at..stop];
        let Some(colon) = text.iter().position(|&byte| byte == b':') else {
            return Problem::new(at, format!("a feature must be index:value, got {}", shown(text)));
        };
        let (name, value) = (&text[..colon], &text[colon + 1..]);
        if name == b"qid" {
            return Ok(None);
        }
        let digits = !name.is_empty() && name.len() <= 10 && name.iter().all(u8::is_ascii_digit);
        let index = name
            .iter()
            .fold(0u64, |index, &digit| index * 10 * u64::from(digits) + u64::from(digit.wrapping_sub(b'0')));
        if !digits || index > HIGHEST {
            return Problem::new(at, format!("an index must be an integer up to {HIGHEST}, got {}", shown(name)));
        }
        let base = self.base.unwrap_or(0);
        let Some(column) = (index as u32).checked_sub(base) else {
            return Problem::new(at, "index 0 where the first column is 1: pass zero_based=True");
        };
        if let Some(columns) = self.columns.filter(|&columns| column >= columns) {
            return Problem::new(at, format!("index {index} is beyond the {columns} columns of n_features"));
        }
        match number(value).filter(|value| value.is_finite()) {
            Some(value) => Ok(Some((column, value))),
            None => Problem::new(at + colon + 1, format!("a value must be a finite number, got {}", shown(value))),
        }
    }
}

fn before_comment(bytes: &[u8], end: usize) -> &[u8] {
    &bytes[..memchr::memchr(b'#', &bytes[..end]).unwrap_or(end)]
}

impl Format for Libsvm {
    fn line(&mut self, bytes: &[u8], start: usize, end: usize, out: &mut Block) -> Result<(), Box<Problem>> {
        let end = start + before_comment(&bytes[start..], end - start).len();
        let blank = |byte: u8| byte == b' ' || byte == b'\t';
        let skip = |mut at: usize| {
            while at < end && blank(bytes[at]) {
                at += 1;
            }
            at
        };
        let stop = |mut at: usize| {
            while at < end && !blank(bytes[at]) {
                at += 1;
            }
            at
        };
        let mut at = skip(start);
        if at == end {
            return Ok(());
        }
        let mut to = stop(at);
        let text = &bytes[at..to];
        let label = match number(text).filter(|label| label.is_finite()) {
            Some(label) => label,
            None if text.contains(&b',') => {
                return Problem::new(at, format!("a row must have one label, got several: {}", shown(text)))
            }
            None => return Problem::new(at, format!("the label must be a number, got {}", shown(text))),
        };
        loop {
            at = skip(to);
            if at == end {
                break;
            }
            to = stop(at);
            if let Some((column, value)) = self.entry(bytes, at, to)? {
                if value != 0.0 {
                    out.push(column, value);
                }
            }
        }
        out.close(label, 1.0, b"").or_else(|column| Problem::overflow(start, column))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Parser;
    use super::*;
    use proptest::prelude::*;

    fn parsed(text: &[u8], base: Option<u32>, columns: Option<u32>) -> (Block, Parser<Libsvm>) {
        let mut format = Libsvm::new(base, columns);
        format.look(text);
        let mut parser = Parser::new(format, true);
        let mut block = Block::default();
        parser.parse(text, true, &mut block);
        (block, parser)
    }

    #[test]
    fn a_file() {
        let text = b"# a comment\n+1 qid:3 2:0.5 1:-2 # another\r\n\n-1\n2.5 3:1 3:2 1:0\n";
        let (block, parser) = parsed(text, None, None);
        assert_eq!((parser.refused().0, parser.format().base()), (0, Some(1)));
        assert_eq!(block.labels, [1.0, -1.0, 2.5]);
        assert_eq!((block.starts, block.indices), (vec![0, 2, 2, 3], vec![0, 1, 2]));
        assert_eq!((block.values, block.width), (vec![-2.0, 0.5, 3.0], 3));
        assert_eq!(parsed(b"1 0:1 10:2", None, None).0.indices, [0, 10]);
        assert_eq!(parsed(b"1 10:1 20:2", None, None).0.indices, [9, 19]);
    }

    #[test]
    fn refusals_name_the_place() {
        for (line, column, message) in [
            ("1,2 1:1", 1, "a row must have one label"),
            ("x 1:1", 1, "the label must be a number"),
            ("1 1", 3, "a feature must be index:value"),
            ("1 a:1", 3, "an index must be an integer"),
            ("1 -1:1", 3, "an index must be an integer"),
            ("1 99999999999:1", 3, "an index must be an integer"),
            ("1 1:x", 5, "a value must be a finite number"),
            ("1 1:inf", 5, "a value must be a finite number"),
            ("1 0:1", 3, "index 0 where"),
            ("1 9:1", 3, "index 9 is beyond"),
            ("1 3:1e308 3:1e308", 1, "the values of column 2 must add up to a finite number"),
        ] {
            let (block, parser) = parsed(format!("1 1:1\n{line}\n").as_bytes(), Some(1), Some(8));
            let (refused, described) = parser.refused();
            assert_eq!((refused, block.len()), (1, 1), "{line}");
            assert_eq!((described[0].line, described[0].column), (2, column), "{line}: {}", described[0].message);
            assert!(described[0].message.starts_with(message), "{line}: {}", described[0].message);
        }
    }

    proptest! {
        #[test]
        fn any_bytes(text in prop::collection::vec(
            prop_oneof![
                prop::sample::select(b"1 2:.\n\r\t#-e0,qid".to_vec()).prop_map(|byte| vec![byte]),
                any::<u8>().prop_map(|byte| vec![byte]),
                Just(b" 2:1e308".to_vec()),
                Just(b"\n1 3:2".to_vec()),
            ], 0..300)
        ) {
            let (block, _) = parsed(&text.concat(), None, None);
            block.assert_sound(block.width);
        }
    }
}
