//! Ordinary bulkheads with a share of a fleet's limit, on the store in memory and in fake time.

mod causes;
mod churn;
mod configured;
mod costs;
mod draining;
mod fetching;
mod found;
mod found_outages;
mod found_registered;
mod found_yielding;
mod joining;
mod keys;
mod log;
mod random;
mod registered;
mod scene;
mod service;
mod slow;
mod store;
mod turning_away;
mod units;
