//! Doubly linked lists through the items of a slab.

use crate::slab::{Place, Slab};

/// The neighbours of an item in its list.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Links {
    previous: Option<Place>,
    next: Option<Place>,
}

impl Links {
    pub(crate) fn next(self) -> Option<Place> {
        self.next
    }
}

/// An item that can be in a list.
pub(crate) trait Linked {
    fn links_mut(&mut self) -> &mut Links;
}

/// The ends of a list. The items hold the links between them.
#[derive(Clone, Debug)]
pub(crate) struct List {
    first: Option<Place>,
    last: Option<Place>,
}

impl List {
    pub(crate) const fn new() -> Self {
        List { first: None, last: None }
    }

    #[inline]
    pub(crate) fn first(&self) -> Option<Place> {
        self.first
    }

    pub(crate) fn last(&self) -> Option<Place> {
        self.last
    }

    /// Appends an item that was made with the [links for it](List::links_for_push).
    #[inline]
    pub(crate) fn push_back<T: Linked>(&mut self, items: &mut Slab<T>, place: Place) {
        match self.last.replace(place) {
            Some(previous) => items[previous].links_mut().next = Some(place),
            None => self.first = Some(place),
        }
    }

    /// Returns the links that the next item to be appended must be made with.
    #[inline]
    pub(crate) fn links_for_push(&self) -> Links {
        Links { previous: self.last, next: None }
    }

    /// Removes the item that had these links.
    #[cfg_attr(target_pointer_width = "64", inline(always))]
    #[cfg_attr(not(target_pointer_width = "64"), inline)]
    #[expect(clippy::inline_always, reason = "a call costs as much as it does itself")]
    pub(crate) fn remove<T: Linked>(&mut self, items: &mut Slab<T>, links: Links) {
        let Links { previous, next } = links;
        match previous {
            Some(previous) => items[previous].links_mut().next = next,
            None => self.first = next,
        }
        match next {
            Some(next) => items[next].links_mut().previous = previous,
            None => self.last = previous,
        }
    }
}
