//! Saying what was done: one line for each step.

/// Prints one line, in the manner of `println!`, with the probe's name in front.
macro_rules! say {
    ($($what:tt)*) => {
        $crate::host::print(format_args!("no-std: {}\n", format_args!($($what)*)))
    };
}

pub(crate) use say;
