//! Where a server lives: a folder and ports that no other has.

use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;

/// The folder of a new server: its name is taken by no other process.
pub(crate) fn folder() -> PathBuf {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("bulklink-{}-{number}", std::process::id()));
        // A folder of this name may be left from an older process of the same id.
        match std::fs::create_dir(&folder) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            result => return result.map(|()| folder).expect("the temporary folder can be written"),
        }
    }
}

/// Ports that are free now, and 0 where none is wanted. All are held until all are chosen, so they
/// differ.
pub(crate) fn free_ports<const N: usize>(wanted: [bool; N]) -> [u16; N] {
    let choose =
        |is_wanted: bool| is_wanted.then(|| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free"));
    let held = wanted.map(choose);
    held.each_ref()
        .map(|listener| listener.as_ref().map_or(0, |listener| listener.local_addr().expect("it is bound").port()))
}
