//! Random numbers that are the same on every machine: splitmix64, and the distributions.

use std::f64::consts::TAU;

/// The distance between two states of splitmix64.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// A sequence of random numbers.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// Creates the sequence of a seed.
    pub fn new(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(STEP) ^ 0xD1B5_4A32_D192_ED03);
        random.bits();
        random
    }

    /// Returns 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// Returns a number from zero up to one.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a number of an exponential distribution with mean one.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.unit())
    }

    /// Returns a number of the standard normal distribution.
    pub fn normal(&mut self) -> f64 {
        (-2.0 * libm::log(1.0 - self.unit())).sqrt() * libm::cos(TAU * self.unit())
    }

    /// Returns a number of a log-normal distribution with mean one.
    pub fn log_normal(&mut self, spread: f64) -> f64 {
        libm::exp(spread * self.normal() - spread * spread / 2.0)
    }
}

/// A distribution of work with mean one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Distribution {
    /// Always one.
    Constant,
    /// Exponential.
    Exponential,
    /// Log-normal, with this standard deviation of the logarithm.
    LogNormal(f64),
}

impl Distribution {
    /// Draws a number.
    pub fn draw(self, random: &mut Random) -> f64 {
        match self {
            Distribution::Constant => 1.0,
            Distribution::Exponential => random.exponential(),
            Distribution::LogNormal(spread) => random.log_normal(spread),
        }
    }
}
