//! Compiles the service's definition, without `protoc`.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed=proto/counter.proto");
    let definition = protox::compile(["counter.proto"], ["proto"])?;
    tonic_prost_build::configure().compile_fds(definition)?;
    Ok(())
}
