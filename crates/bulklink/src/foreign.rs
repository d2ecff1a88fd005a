//! Containment of foreign code: wakers, handlers and keys may panic wherever they run or are
//! dropped.

use alloc::boxed::Box;
use alloc::string::String;
use core::any::Any;
use core::error::Error;
use core::fmt::Write;
use core::task::Waker;

/// Runs foreign code and catches its panic. Returns whether it returned without one. The panic hook
/// has reported the panic.
#[inline]
pub fn contain(foreign: impl FnOnce()) -> bool {
    match catch(foreign) {
        Ok(()) => true,
        Err(payload) => {
            drop_payload(payload);
            false
        }
    }
}

/// Drops the payload of a panic, which is foreign too. If its drop panics, the second payload is
/// leaked: to drop that could panic again, without end.
#[cold]
fn drop_payload(payload: Box<dyn Any + Send>) {
    let _ = catch(|| drop(payload)).map_err(core::mem::forget);
}

/// Runs foreign code. The panic hook reports a panic.
///
/// # Errors
///
/// The payload, if it panics.
#[cfg(feature = "std")]
#[inline]
pub fn catch<T>(foreign: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(foreign))
}

/// Runs foreign code. Without std, no panic unwinds to here.
///
/// # Errors
///
/// None.
#[cfg(not(feature = "std"))]
#[expect(clippy::unnecessary_wraps, reason = "with std it can fail")]
pub fn catch<T>(foreign: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    Ok(foreign())
}

/// Runs foreign code, and returns its result unless it panics.
#[inline]
pub(crate) fn attempt<T>(foreign: impl FnOnce() -> T) -> Option<T> {
    let mut answer = None;
    contain(|| answer = Some(foreign()));
    answer
}

/// Drops a foreign value and catches its panic, so that the caller loses nothing that it holds,
/// such as a grant.
pub fn discard<T>(foreign: T) {
    contain(|| drop(foreign));
}

/// Wakes tasks. A panic of a waker reaches neither the caller nor the next waker; the panic hook
/// has reported it.
#[inline]
pub fn wake(wakers: impl IntoIterator<Item = Waker>) {
    for waker in wakers {
        contain(|| waker.wake());
    }
}

/// Returns the texts of an error and of its causes. They are foreign: one that panics or fails ends
/// the text, and causes that are a circle have an end. A cause with the text of the error around
/// it, as in a box that only passes it on, is left out.
pub fn texts(error: &(dyn Error + 'static)) -> String {
    /// More causes than an error has.
    const MOST: usize = 100;
    let (mut texts, mut last) = (String::new(), 0..0);
    contain(|| {
        let causes = core::iter::successors(Some(error), |&error| error.source());
        for (number, cause) in causes.take(MOST).enumerate() {
            let (end, between) = (texts.len(), if number == 0 { "" } else { ": " });
            if write!(texts, "{between}{cause}").is_err() {
                return;
            }
            let begin = end + between.len();
            if number > 0 && texts[begin..] == texts[last.clone()] {
                texts.truncate(end);
            } else {
                last = begin..texts.len();
            }
        }
    });
    texts
}

#[cfg(all(test, feature = "std"))]
mod tests {
    use core::fmt;

    use super::*;

    /// Its text is that of a function, and its cause is itself if it is a circle.
    struct Foreign(fn(&mut fmt::Formatter<'_>) -> fmt::Result, Option<Box<Foreign>>, bool);

    impl fmt::Debug for Foreign {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("foreign")
        }
    }

    impl fmt::Display for Foreign {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            (self.0)(f)
        }
    }

    impl Error for Foreign {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            let Foreign(_, cause, is_circle) = self;
            if *is_circle { Some(self) } else { cause.as_deref().map(|cause| cause as &(dyn Error + 'static)) }
        }
    }

    #[test]
    fn texts_are_joined_up_to_one_that_panics_or_fails() {
        let of = |text| Foreign(text, None, false);
        let caused = |cause| Foreign(|f| f.write_str("unreachable"), Some(Box::new(cause)), false);
        assert_eq!(texts(&caused(of(|f| f.write_str("refused")))), "unreachable: refused");
        assert_eq!(texts(&caused(caused(caused(of(|f| f.write_str("able")))))), "unreachable: able");
        assert_eq!(texts(&caused(of(|_| panic!("foreign")))), "unreachable: ");
        assert_eq!(texts(&caused(of(|_| Err(fmt::Error)))), "unreachable: ");
    }

    #[test]
    fn causes_that_are_a_circle_have_an_end() {
        assert_eq!(texts(&Foreign(|f| f.write_str("x"), None, true)), "x");
        let mut long = None;
        for _ in 0..75 {
            let inner = Foreign(|f| f.write_str("y"), long.take().map(Box::new), false);
            long = Some(Foreign(|f| f.write_str("x"), Some(Box::new(inner)), false));
        }
        assert_eq!(texts(&long.expect("it is one")).len(), 1 + 99 * 3);
    }
}
