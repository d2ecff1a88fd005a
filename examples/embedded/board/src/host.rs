//! The end of a program: through semihosting, QEMU exits with its code.

use core::panic::PanicInfo;

use cortex_m_rt::{ExceptionFrame, exception};
use cortex_m_semihosting::debug::{self, EXIT_FAILURE, EXIT_SUCCESS};
use cortex_m_semihosting::hprintln;

/// Ends the program with success.
pub fn finish() -> ! {
    end(EXIT_SUCCESS)
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    hprintln!("FAILED: {info}");
    end(EXIT_FAILURE)
}

// SAFETY: it uses no state that the interrupted program may have left inconsistent, and does not
// return.
#[exception]
unsafe fn HardFault(frame: &ExceptionFrame) -> ! {
    hprintln!("FAILED: hard fault at {:#010x}", frame.pc());
    end(EXIT_FAILURE)
}

fn end(status: debug::ExitStatus) -> ! {
    debug::exit(status);
    // A debugger may resume the program.
    loop {
        cortex_m::asm::wfi();
    }
}
