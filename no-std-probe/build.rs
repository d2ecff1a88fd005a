//! Links the probe without the start files and libraries of the host.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // `-no-pie`: in a static program nobody would relocate it.
    for argument in ["-nostartfiles", "-nostdlib", "-static", "-no-pie"] {
        println!("cargo::rustc-link-arg-bins={argument}");
    }
}
