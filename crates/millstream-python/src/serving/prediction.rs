//! The prediction for the features of a request, as JSON, without Python objects.

use std::io::Write;

use millstream_core::declaration::Role;
use millstream_core::held::{self, Root};
use millstream_core::json::{push_float, push_string};
use millstream_core::labels::Label;
use millstream_core::row::Want;

use super::predict_body::read_features;
use crate::answers::index_of;
use crate::part::Guarded;
use crate::thread_buffers::{thread_buffers, ThreadBuffers};

/// Append the prediction for the JSON text of features. It is that of `ServedModel.predict`. None if Python must
/// predict it or report an error.
pub fn push_prediction(model: &Guarded, x: &str, out: &mut Vec<u8>) -> Option<()> {
    let mut buffers = thread_buffers();
    let ThreadBuffers { draft, scratch, answer, .. } = &mut *buffers;
    let model: &held::Model = model.held_detached::<Root>()?;
    read_features(x, model.schema(), model.missing_is_zero(), draft)?;
    match model.role() {
        Role::AnomalyDetector => push_number(out, model.score(draft, scratch).ok()?),
        role @ (Role::Classifier | Role::Regressor | Role::Clusterer) => {
            model.predict(draft, Want::Class, answer, scratch).ok()?;
            match role {
                Role::Regressor => push_number(out, answer.number),
                Role::Clusterer => {
                    push_integer(out, index_of(&answer.cluster));
                    Some(())
                }
                _ => {
                    let entries = model.labels().entries();
                    let code = answer.class.class.and_then(|code| entries.get(code as usize));
                    push_label(out, code.and_then(Option::as_ref));
                    Some(())
                }
            }
        }
        _ => None,
    }
}

fn push_number(out: &mut Vec<u8>, number: f64) -> Option<()> {
    number.is_finite().then(|| push_float(out, number))
}

fn push_label(out: &mut Vec<u8>, label: Option<&Label>) {
    match label {
        None => out.extend_from_slice(b"null"),
        Some(Label::Bool(flag)) => out.extend_from_slice(if *flag { b"true" } else { b"false" }),
        Some(Label::Int(int)) => push_integer(out, int),
        Some(Label::Text(text)) => push_string(out, text),
    }
}

/// The members of a reply after its id, up to the number of the record, with a comma before them.
pub fn reply_middle(name: &str, version: Option<&str>) -> Vec<u8> {
    let mut middle = b",\"model\":".to_vec();
    push_string(&mut middle, name);
    middle.extend_from_slice(b",\"version\":");
    match version {
        Some(version) => push_string(&mut middle, version),
        None => middle.extend_from_slice(b"null"),
    }
    middle.extend_from_slice(b",\"seq\":");
    middle
}

pub fn push_integer(out: &mut Vec<u8>, integer: impl std::fmt::Display) {
    // Writing to a Vec cannot fail.
    let _ = write!(out, "{integer}");
}
