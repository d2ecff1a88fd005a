//! A small client: one command at a time, by RESP2.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// The answer of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// A status or a string.
    Text(String),
    /// An integer.
    Integer(i64),
    /// An array.
    List(Vec<Reply>),
    /// The text of an error, such as `WRONGTYPE Operation …`.
    Error(String),
    /// Nothing.
    Null,
}

impl Reply {
    /// Returns the text of a string, of an integer or of an error; all other replies have none.
    pub fn text(&self) -> String {
        match self {
            Reply::Text(text) | Reply::Error(text) => text.clone(),
            Reply::Integer(number) => number.to_string(),
            Reply::List(_) | Reply::Null => String::new(),
        }
    }

    /// Returns the elements of an array; all other replies have none.
    pub fn list(self) -> Vec<Reply> {
        if let Reply::List(list) = self { list } else { Vec::new() }
    }

    /// Whether the server refused the command.
    pub fn is_error(&self) -> bool {
        matches!(self, Reply::Error(_))
    }
}

trait Stream: Read + Write + Send {}

impl<T: Read + Write + Send> Stream for T {}

/// A connection to a server.
pub struct Connection(BufReader<Box<dyn Stream>>);

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Connection").finish_non_exhaustive()
    }
}

impl Connection {
    /// Connects to a socket.
    ///
    /// # Errors
    ///
    /// Fails where no server listens.
    pub fn unix(path: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(path)?;
        Ok(Connection(BufReader::new(Box::new(stream))))
    }

    /// Connects to a port of the loopback. Reading fails if nothing arrives for the time.
    ///
    /// # Errors
    ///
    /// Fails where no server listens.
    pub fn tcp(port: u16, patience: Duration) -> io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(patience))?;
        Ok(Connection(BufReader::new(Box::new(stream))))
    }

    /// Sends a command and waits for its reply.
    ///
    /// # Errors
    ///
    /// Fails if the connection ends or the reply is no RESP2; an error of the server is a reply.
    pub fn call(&mut self, words: &[&str]) -> io::Result<Reply> {
        let words: Vec<_> = words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len())).collect();
        let text = format!("*{}\r\n{}", words.len(), words.concat());
        self.0.get_mut().write_all(text.as_bytes())?;
        self.read()
    }

    fn read(&mut self) -> io::Result<Reply> {
        let mut line = String::new();
        if self.0.read_line(&mut line)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let strange = || io::Error::new(io::ErrorKind::InvalidData, format!("no RESP2: {line:?}"));
        let rest = line.get(1..).ok_or_else(strange)?.trim_end();
        let number = || rest.parse::<i64>().map_err(|_| strange());
        Ok(match line.as_bytes()[0] {
            b'+' => Reply::Text(rest.to_owned()),
            b'-' => Reply::Error(rest.to_owned()),
            b':' => Reply::Integer(number()?),
            b'$' | b'*' if number()? < 0 => Reply::Null,
            b'$' => {
                // The text is followed by the end of its line.
                let mut bytes = vec![0; usize::try_from(number()?).map_err(|_| strange())? + 2];
                self.0.read_exact(&mut bytes)?;
                Reply::Text(String::from_utf8_lossy(&bytes[..bytes.len() - 2]).into_owned())
            }
            b'*' => Reply::List((0..number()?).map(|_| self.read()).collect::<io::Result<_>>()?),
            _ => return Err(strange()),
        })
    }
}
