//! The suite on the store in memory.

use bulklink_circuits::Memory;

bulklink_circuits::suite!(Memory::new());
