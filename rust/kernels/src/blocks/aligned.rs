//! Memory that begins with a line of the cache, so that no vector of it is in two lines.

use super::raw::LINE;
use crate::math::real::Real;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

#[derive(Clone, Copy)]
#[repr(C, align(64))]
struct Line([u8; LINE]);

/// Numbers of any value.
pub(crate) struct Aligned<T> {
    lines: Vec<Line>,
    numbers: PhantomData<T>,
}

impl<T> Default for Aligned<T> {
    fn default() -> Self {
        Aligned {
            lines: Vec::new(),
            numbers: PhantomData,
        }
    }
}

impl<T> Aligned<T> {
    const NUMBERS: usize = LINE / size_of::<T>();

    /// Has room for so many numbers, or for more.
    pub(crate) fn reserve(&mut self, numbers: usize) {
        let lines = numbers.div_ceil(Self::NUMBERS);
        if self.lines.len() < lines {
            self.lines.resize(lines, Line([0; LINE]));
        }
    }

    /// Numbers that memory is taken for.
    pub(crate) fn capacity(&self) -> usize {
        self.lines.capacity() * Self::NUMBERS
    }
}

impl<T: Real> Deref for Aligned<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        let len = self.lines.len() * Self::NUMBERS;
        // SAFETY: lines without gaps that are ours; any bits are numbers.
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), len) }
    }
}

impl<T: Real> DerefMut for Aligned<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        let len = self.lines.len() * Self::NUMBERS;
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_begin_with_a_line_and_stay() {
        let mut room = Aligned::<f64>::default();
        assert!(room.is_empty() && room.capacity() == 0);
        for n in [1, 8, 9, 1000] {
            room.reserve(n);
            assert!(room.len() >= n && room.capacity() >= room.len());
            assert!(room.as_ptr().addr().is_multiple_of(LINE));
            room[n - 1] = n as f64;
        }
        room.reserve(5);
        assert_eq!(
            [room[0], room[7], room[8], room[999]],
            [1.0, 8.0, 9.0, 1000.0]
        );
    }
}
