//! Strict JSON (RFC 8259) for untrusted bodies.
//!
//! `Reader` takes a text apart token by token and builds nothing, so that a caller can make Python objects of it, or
//! write features straight into a draft. It is stricter than the standard demands: UTF-8 without a byte order mark, no
//! lone surrogates, no number beyond the range of a float. Callers refuse duplicate keys and deep nesting, because only
//! they know the keys that they have met.
//!
//! Errors are one line and name the place by its path: `x.hour: 1e400 is not a finite number`.

mod invalid;
mod number;
mod reader;
mod string;
mod writer;

pub use invalid::Invalid;
pub use number::Number;
pub use reader::{Reader, Token, MAX_DEPTH};
pub use writer::{push_float, push_string};
