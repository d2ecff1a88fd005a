//! A gate by hand: what the search of its inputs does not cover, and what is read from it.

mod calls;
mod capacity_report;
mod figures;
#[cfg(feature = "histogram")]
mod histogram;
mod looks;
mod particulars;
mod quick;
