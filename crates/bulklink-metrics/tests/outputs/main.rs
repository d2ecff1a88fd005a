//! The three outputs, of bulkheads, partitions, breakers and shares on virtual time.

mod adaptive;
mod breakers;
mod facade;
mod guide;
mod keys;
mod labels;
mod members;
mod open_telemetry;
mod rejections;
mod route;
mod scene;
mod series;
mod settings;
mod shared;
mod shares;
mod storm;
mod text;
