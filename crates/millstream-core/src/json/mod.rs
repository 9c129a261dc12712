//! Strict JSON (RFC 8259) for untrusted bodies.
//!
//! `Reader` splits a text into tokens without building a tree, so that a caller can create Python objects or write
//! features directly into a draft. It is stricter than the standard requires: UTF-8 without a byte order mark, no
//! lone surrogates, no number beyond the range of a float. Callers refuse duplicate keys and deep nesting, because only
//! they store the keys.
//!
//! Errors are one line long and give the path of the invalid value: `x.hour: 1e400 is not a finite number`.

mod invalid;
mod number;
mod reader;
mod string;
mod writer;

pub use invalid::Invalid;
pub use number::Number;
pub use reader::{Reader, Token, MAX_DEPTH};
pub use writer::{push_float, push_string};
