//! The parts of the JSON schema that derive from no type: ranges, and the forms of texts.

use schemars::{Schema, SchemaGenerator, json_schema};

use crate::Limits;

/// A number and its unit; several of these, from the largest unit to the smallest.
const DURATION: &str = concat!(
    r"^\s*(\d+(\.\d+)?\s*d\s*)?(\d+(\.\d+)?\s*h\s*)?(\d+(\.\d+)?\s*m\s*)?(\d+(\.\d+)?\s*s\s*)?",
    "(\\d+(\\.\\d+)?\\s*ms\\s*)?(\\d+(\\.\\d+)?\\s*[u\u{b5}\u{3bc}]s\\s*)?(\\d+(\\.\\d+)?\\s*ns\\s*)?$",
);

pub(super) fn from_0(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "integer", "minimum": 0, "maximum": Limits::MAX })
}

pub(super) fn from_1(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "integer", "minimum": 1, "maximum": Limits::MAX })
}

/// A duration.
pub fn duration(_: &mut SchemaGenerator) -> Schema {
    // The pattern alone would take a blank text.
    json_schema!({
        "type": "string",
        "pattern": DURATION,
        "allOf": [{ "pattern": r"^\s*\d" }],
        "examples": ["250ms", "1.5s", "2m 30s"],
    })
}

/// A duration that is longer than zero, for other crates.
#[cfg(feature = "std")]
pub fn positive_duration(generator: &mut SchemaGenerator) -> Schema {
    let positive = json_schema!({ "allOf": [{ "pattern": r"^\s*\d" }, { "pattern": "[1-9]" }] });
    let mut schema = duration(generator);
    add(&mut schema, &positive);
    schema
}

pub(super) fn reserve(generator: &mut SchemaGenerator) -> Schema {
    let named = json_schema!({ "type": "string", "enum": ["learnt", "none"] });
    json_schema!({ "anyOf": [named, duration(generator)] })
}

/// Docs are broken into lines in the code, and not in a schema.
pub fn unbroken(schema: &mut Schema) {
    let properties = schema.get_mut("properties").and_then(|properties| properties.as_object_mut());
    for (_, property) in properties.into_iter().flatten() {
        if let Some(text) = property.get_mut("description") {
            *text = text.as_str().unwrap_or_default().replace('\n', " ").into();
        }
    }
}

/// The number of partitions must be there, and a capacity: either parallelism or capacity, beside a
/// shared one or not, or a shared one alone. What shares it needs it.
pub(super) fn partitions(schema: &mut Schema) {
    unbroken(schema);
    let shared = ["shared_capacity"];
    let needs = json_schema!({
        "required": ["max_partitions"],
        "anyOf": [{ "required": ["parallelism"] }, { "required": ["capacity"] }, { "required": shared }],
        "not": { "required": ["parallelism", "capacity"] },
        "dependentRequired": {
            "shared_waiting_room": shared, "weight": shared, "floor": shared, "ceiling": shared,
            "headroom_normal": shared, "headroom_sheddable": shared, "headroom_background": shared,
            "class_relief": shared,
        },
    });
    add(schema, &needs);
}

/// Either parallelism or capacity must be there.
pub(super) fn one_capacity(schema: &mut Schema) {
    unbroken(schema);
    let one = json_schema!({ "oneOf": [{ "required": ["parallelism"] }, { "required": ["capacity"] }] });
    add(schema, &one);
}

/// Adds keywords.
pub fn add(schema: &mut Schema, more: &Schema) {
    for (keyword, value) in more.as_object().into_iter().flatten() {
        schema.insert(keyword.clone(), value.clone());
    }
}
