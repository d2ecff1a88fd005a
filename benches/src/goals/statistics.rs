//! *statistics*: the cost of counting everything.

use super::uncontended;
use crate::goal::{Figure, Goal, Limit, Row};

pub(crate) fn goal() -> Goal {
    let figure = Figure::Builds(uncontended::slot());
    let row = Row::new("slot + drop, instructions more with statistics", "our own build without", figure);
    Goal::new("statistics", [row.limit(Limit::More(5.0))])
}
