//! `millstream._core.are_objects`: whether bytes look like JSON lines, before another parser is trusted with them.
//!
//! Arrow's JSON reader is fast, but it is not safe with every input: a `null` outside of an object makes it read memory
//! out of bounds, and brackets nested about ten thousand deep overflow its stack. One scan excludes both. It checks
//! only brackets, quotes and line ends; the parser checks the rest.

use pyo3::prelude::*;

/// Whether each line is blank or exactly one object, at most `depth` brackets deep, in UTF-8.
#[pyfunction]
pub fn are_objects(py: Python<'_>, data: &[u8], depth: usize) -> bool {
    py.detach(|| std::str::from_utf8(data).is_ok() && lines_are_objects(data, depth))
}

fn lines_are_objects(data: &[u8], most: usize) -> bool {
    let mut depth = 0;
    // Whether the line has an object already.
    let mut complete = false;
    let mut place = 0;
    while let Some(&byte) = data.get(place) {
        place += 1;
        if depth == 0 {
            match byte {
                b' ' | b'\t' => {}
                b'\n' | b'\r' => complete = false,
                b'{' if !complete && most > 0 => depth = 1,
                _ => return false,
            }
            continue;
        }
        match byte {
            b'"' => match string_end(data, place) {
                Some(end) => place = end,
                None => return false,
            },
            b'{' | b'[' if depth < most => depth += 1,
            b'{' | b'[' | b'\n' | b'\r' => return false,
            b'}' | b']' => {
                depth -= 1;
                complete = depth == 0;
            }
            _ => {}
        }
    }
    depth == 0
}

/// The index after the closing quote of a string; none if the line ends before it.
fn string_end(data: &[u8], start: usize) -> Option<usize> {
    let mut place = start;
    loop {
        match *data.get(place)? {
            b'"' => return Some(place + 1),
            b'\\' => place += 2,
            b'\n' | b'\r' => return None,
            _ => place += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::lines_are_objects;

    #[test]
    fn only_lines_of_one_object_pass() {
        let good = ["", "\n \r\n", "{}", "{\"a\":[{\"}\":\"\\\"{\"}]}\r\n\n {\"b\":null} \n", "{}\r{}"];
        for text in good {
            assert!(lines_are_objects(text.as_bytes(), 3), "{text:?}");
        }
        let bad = [
            "null",
            "{}null",
            "{} {}",
            "1",
            "\"x\"",
            "[{}]",
            "{\n}",
            "{",
            "}",
            "{}}",
            "{\"a",
            "{\"a\\",
            "{\"a\nb\":1}",
            "{[[[]]]}",
            "\u{feff}{}",
            "\0{}",
        ];
        for text in bad {
            assert!(!lines_are_objects(text.as_bytes(), 3), "{text:?}");
        }
    }
}
