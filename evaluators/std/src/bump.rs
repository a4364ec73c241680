//! The allocator: a pointer that moves up through the memory the instance was
//! born with. An instance lives for one call, so nothing is worth giving back,
//! except what was handed out last: a growing `Vec` or `String` then grows in
//! place. Only a call that outgrows the initial memory asks for more, since
//! growing takes a lock that all threads of the host share.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;

const PAGE: usize = 65_536;
/// Memory is asked for in steps of a mebibyte.
const STEP_PAGES: usize = 16;

struct Bump {
    /// Where the next block starts; 0 before the first.
    next: Cell<usize>,
    /// Where the memory ends.
    end: Cell<usize>,
}

// A component instance has one thread.
unsafe impl Sync for Bump {}

#[global_allocator]
static ALLOCATOR: Bump = Bump { next: Cell::new(0), end: Cell::new(0) };

unsafe extern "C" {
    /// Set by the linker: where static data and stack end.
    static __heap_base: u8;
}

impl Bump {
    fn start(&self) -> usize {
        if self.next.get() == 0 {
            self.next.set(&raw const __heap_base as usize);
            self.end.set(core::arch::wasm32::memory_size(0) * PAGE);
        }
        self.next.get()
    }

    /// Makes the memory reach `end`; false when the host refuses.
    fn reach(&self, end: usize) -> bool {
        if end <= self.end.get() {
            return true;
        }
        let missing = (end - self.end.get()).div_ceil(PAGE);
        let grown = [missing.max(STEP_PAGES), missing]
            .into_iter()
            .find(|pages| core::arch::wasm32::memory_grow(0, *pages) != usize::MAX);
        if let Some(pages) = grown {
            self.end.set(self.end.get() + pages * PAGE);
        }
        grown.is_some()
    }
}

unsafe impl GlobalAlloc for Bump {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(start) = self.start().checked_next_multiple_of(layout.align()) else { return std::ptr::null_mut() };
        match start.checked_add(layout.size()) {
            Some(end) if self.reach(end) => {
                self.next.set(end);
                start as *mut u8
            }
            Some(_) | None => std::ptr::null_mut(),
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if block as usize + layout.size() == self.next.get() {
            self.next.set(block as usize);
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let start = block as usize;
        if start + layout.size() == self.next.get() {
            return match start.checked_add(size) {
                Some(end) if self.reach(end) => {
                    self.next.set(end);
                    block
                }
                Some(_) | None => std::ptr::null_mut(),
            };
        }
        if size <= layout.size() {
            return block;
        }
        // The layout's alignment is valid, and `size` comes from a valid layout by the caller's contract.
        let moved = unsafe { self.alloc(Layout::from_size_align_unchecked(size, layout.align())) };
        if !moved.is_null() {
            unsafe { std::ptr::copy_nonoverlapping(block, moved, layout.size()) };
        }
        moved
    }

    // Fresh memory is zero, but memory given back by `dealloc` is not: the
    // default `alloc_zeroed`, which writes zeros, is the right one.
}
