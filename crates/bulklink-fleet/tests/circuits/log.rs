//! What circuits write to the log.

use std::io;
use std::sync::{Arc, Mutex};

use crate::scene::Scene;

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn an_outage_is_one_line_and_its_end_another() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).without_time();
    let _guard = tracing::subscriber::set_default(subscriber.with_writer(move || writer.clone()).finish());
    let mut scene = Scene::new();
    let process = scene.process();
    scene.advance(1_000);
    scene.store.stop();
    scene.advance(60_000);
    assert!(!process.is_connected());
    scene.store.start();
    scene.advance(10_000);
    assert!(process.is_connected());
    let bytes = log.0.lock().expect("no panic").clone();
    let text = String::from_utf8(bytes).expect("UTF-8");
    let lines = text.lines().filter(|line| line.contains("bulklink_fleet")).collect::<Vec<_>>();
    let [lost, back] = lines[..] else { panic!("{text}") };
    assert!(lost.contains(" WARN ") && lost.contains("the store of circuits is out of reach"), "{lost}");
    assert!(lost.contains("namespace=test process=") && lost.ends_with("error=\"the store is unreachable\""), "{lost}");
    assert!(back.contains(" INFO ") && back.contains("the store of circuits answers again"), "{back}");
}
