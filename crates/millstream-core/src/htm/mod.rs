//! Hierarchical temporal memory: sparse binary codes, columns that learn them, and cells that learn their sequences.
//!
//! A row becomes active bits (`bits`, the encoders), bits become active columns (`spatial_pooler`), and columns become
//! active cells, which predict the columns of the next row (`temporal_memory`). The fraction of columns that were not
//! predicted is a raw anomaly score; `anomaly_likelihood` compares it with the scores before. `htm_anomaly` is all of
//! them in one detector.

pub mod anomaly_likelihood;
pub mod bits;
pub mod category_encoder;
pub mod clock;
pub mod date_encoder;
pub mod htm_anomaly;
pub mod scalar_encoder;
pub mod segments;
pub mod spatial_pooler;
pub mod temporal_memory;
