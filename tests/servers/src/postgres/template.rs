//! The data of a new server, made once per test process and copied for each server.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Mutex, OnceLock, PoisonError};

use super::account::Account;
use super::program::Programs;
use super::{SUPERUSER, run, tests};
use crate::guard::Guard;
use crate::{User, place};

/// A folder, and the guard that removes it with the process.
struct Template {
    data: PathBuf,
    _guard: Mutex<Guard>,
}

/// The folder of the data.
pub(super) fn folder(programs: &Programs, account: &Account) -> &'static Path {
    static TEMPLATE: OnceLock<Template> = OnceLock::new();
    // A test that panics here must not let the others panic without a reason.
    static MAKING: Mutex<()> = Mutex::new(());
    let _making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    &TEMPLATE.get_or_init(|| create(programs, account)).data
}

fn create(programs: &Programs, account: &Account) -> Template {
    let folder = place::folder();
    let guard = Guard::new(&folder, &["true".into()]);
    account.give(&folder);
    let data = folder.join("data");
    let mut create = account.command(&programs.path("initdb"));
    create
        .args(["-U", SUPERUSER, "-A", "trust", "-E", "UTF8", "--locale=C", "--wal-segsize=1", "--no-sync", "-D"])
        .arg(&data);
    run(&mut create);
    let User { name, password, .. } = tests();
    let owner = format!("CREATE ROLE {name} LOGIN PASSWORD '{password}'\nALTER DATABASE postgres OWNER TO {name}\n");
    // Two thirds of what would be copied for each server, which needs one database only.
    let without = |name: &str| format!("ALTER DATABASE {name} IS_TEMPLATE false\nDROP DATABASE {name}\n");
    let statements = [owner, without("template0"), without("template1")].concat();
    let mut single = account.command(&programs.path("postgres"));
    single.arg("--single").args(["-c", "fsync=off", "-c", "exit_on_error=on", "-D"]).arg(&data).arg("postgres");
    let mut single =
        single.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it runs");
    let mut input = single.stdin.take().expect("the input is piped");
    input.write_all(statements.as_bytes()).expect("the server reads");
    drop(input);
    let output = single.wait_with_output().expect("the server ends");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Template { data, _guard: Mutex::new(guard) }
}
