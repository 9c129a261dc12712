//! Models made of models.

mod filter_step;
pub mod interact;
pub mod pipeline;
pub mod selection;
pub mod target_transform;
pub mod union;

use rustc_hash::FxHashSet;

use crate::fault::{Fault, Result};
use crate::parameter::Arguments;
use crate::schema::Name;

/// The names of steps or components: the given ones, or the last word of each one's registry name.
fn member_names(arguments: &Arguments<'_>, members: &str, count: usize) -> Result<Vec<String>> {
    if arguments.value("names")?.is_null() {
        let described = arguments.value(members)?.as_array().map_or(&[][..], Vec::as_slice);
        return Ok(described.iter().map(short_name).collect());
    }
    let names: Vec<String> = arguments.names("names")?.iter().map(Name::text).collect();
    let distinct: FxHashSet<&String> = names.iter().collect();
    if names.len() != count || distinct.len() != count {
        return Err(Fault::value(format!(
            "{}: names must be different, one for each of {count} {members}, got {}",
            arguments.who,
            names.join(", ")
        )));
    }
    Ok(names)
}

/// `StandardScaler`; of a pipeline that of its last step.
fn short_name(description: &serde_json::Value) -> String {
    if let Some(last) = description["parameters"]["steps"].as_array().and_then(|steps| steps.last()) {
        return short_name(last);
    }
    let name = description["name"].as_str().unwrap_or_default();
    name.rsplit('.').next().unwrap_or(name).into()
}
