//! Weights by feature name, as `inspect` reports them.

use serde_json::{json, Map, Value as Json};

use crate::row::Value;
use crate::schema::{FeatureKind, Schema};

/// From this many columns on, numbered columns without a weight are not shown: most columns of a hashed model.
const WIDE: usize = 1 << 12;

/// Something of each feature, or of each value of a nominal one: `{feature: number, or {value: number}}`.
pub fn named(schema: &Schema, of: impl Fn(usize, Value) -> Option<f64>) -> Map<String, Json> {
    let wide = schema.only_numbered() && schema.len() > WIDE;
    let mut found = Map::new();
    for (slot, (name, kind)) in schema.names().zip(schema.kinds()).enumerate() {
        if *kind == FeatureKind::Nominal {
            let values = schema.values(slot);
            let by_value: Map<_, _> = (0..values.len() as u32)
                .filter_map(|code| {
                    Some((values.text(code)?.to_string(), json!(of(slot, Value::Nominal(Some(code)))?)))
                })
                .collect();
            found.insert(name.text(), Json::Object(by_value));
        } else if let Some(number) = of(slot, Value::Number(0.0)).filter(|&number| !wide || number != 0.0) {
            found.insert(name.text(), json!(number));
        }
    }
    found
}
