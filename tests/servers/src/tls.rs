//! Certificates for servers on the loopback, made by the program `openssl`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Missing;

/// The settings of the server that name files, and the files.
pub(crate) const FILES: [(&str, &str); 3] =
    [("tls-cert-file", "server.pem"), ("tls-key-file", "server.key"), ("tls-ca-cert-file", "authority.pem")];

/// Makes a certificate that signs, and one for 127.0.0.1 and localhost that it has signed.
const SCRIPT: &str = "
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj '/CN=authority' -keyout authority.key -out authority.pem &&
openssl req -newkey rsa:2048 -nodes -subj '/CN=localhost' -keyout server.key -out server.csr &&
printf 'subjectAltName=IP:127.0.0.1,DNS:localhost\nbasicConstraints=CA:FALSE\n' >extensions &&
openssl x509 -req -in server.csr -CA authority.pem -CAkey authority.key -CAcreateserial -days 2 \
    -extfile extensions -out server.pem
";

/// Whether this machine has the program that makes certificates.
pub(crate) fn check_openssl() -> Result<(), Missing> {
    let runs = Command::new("openssl").arg("version").output().is_ok_and(|output| output.status.success());
    if runs { Ok(()) } else { Err(Missing("no openssl, which makes certificates".to_owned())) }
}

/// Whether this machine has what TLS needs: the program, and a Redis that was built with it.
pub(crate) fn check(server: &Path) -> Result<(), Missing> {
    check_openssl()?;
    // A server ends at once if it cannot read its configuration, and names the line.
    let mut start = Command::new(server);
    start.args(["--port", "0", "--tls-port", "0", "--bulklink-no-such-setting", "1"]).stdin(Stdio::null());
    let output = start.output().map(|output| [output.stdout, output.stderr].concat()).unwrap_or_default();
    let answer = String::from_utf8_lossy(&output);
    if answer.contains("'tls-port") {
        return Err(Missing(format!("{} was built without TLS", server.display())));
    }
    Ok(())
}

/// Makes the files in a folder.
pub(crate) fn create(folder: &Path) {
    let mut shell = Command::new("sh");
    let output = shell.args(["-c", SCRIPT]).current_dir(folder).output().expect("a shell starts");
    assert!(output.status.success(), "openssl: {}", String::from_utf8_lossy(&output.stderr));
}

/// The file of the certificate that signs.
pub(crate) fn authority(folder: &Path) -> PathBuf {
    folder.join("authority.pem")
}
