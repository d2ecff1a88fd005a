//! The three outputs, of bulkheads and partitions on virtual time.

mod facade;
mod guide;
mod labels;
mod members;
mod open_telemetry;
mod rejections;
mod scene;
mod series;
mod storm;
mod text;
