//! The plants, in sets: what the rules were tuned with, and what they met unseen.

mod dev;
mod h;
mod v;
mod w;
mod x;
mod y;

use crate::plant::Plant;

/// A set of plants.
#[derive(Clone, Copy, Debug)]
pub struct Set {
    /// Its name.
    pub name: &'static str,
    /// How far its results can be trusted.
    pub trust: &'static str,
    /// Makes its plants.
    pub plants: fn() -> Vec<Plant>,
}

/// All sets, in the order of their making.
pub const SETS: [Set; 6] = [
    Set { name: "dev", trust: "The rules were tuned with these plants and other seeds.", plants: dev::plants },
    Set { name: "H", trust: "Written before tuning; two rules of `Knee` were added after it.", plants: h::plants },
    Set {
        name: "V",
        trust: "Written after H. The start of `Knee`, its edges and its outages were mended after V and W.",
        plants: v::plants,
    },
    Set { name: "W", trust: "Written after V, and seen as well by now.", plants: w::plants },
    Set {
        name: "X",
        trust: "Written after situations of production, and met once. `Knee` was mended after that.",
        plants: x::plants,
    },
    Set {
        name: "Y",
        trust: "Written after that, and met once, unseen. No rule was changed because of it.",
        plants: y::plants,
    },
];

/// The sets of the document.
pub const PUBLISHED: [&str; 6] = ["dev", "H", "V", "W", "X", "Y"];

/// Returns a day as steps of ten seconds: a sine around a mean rate.
fn day(steps: u32, rate: f64, swing: f64, turn: f64) -> impl Iterator<Item = (f64, f64)> {
    (0..steps).map(move |step| {
        let step = f64::from(step);
        (step * 10.0, rate * (0.95 + swing * libm::sin(step * turn)))
    })
}

/// Returns equally spaced times.
fn every(seconds: f64, count: u32) -> impl Iterator<Item = f64> {
    (1..=count).map(move |number| seconds * f64::from(number))
}
