//! A small client of PostgreSQL: one text of statements at a time, and values as texts.

use std::fmt;
use std::io::{self, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Version 3.0 of the protocol.
const PROTOCOL: u32 = 3 << 16;

/// Why statements were not run.
#[derive(Debug)]
pub enum SqlError {
    /// The server refused.
    Refused {
        /// The code of the error, such as `42501`.
        code: String,
        /// The message of the server.
        message: String,
    },
    /// There is no connection, or it has ended.
    Lost(io::Error),
}

impl SqlError {
    /// Returns the code of the error if the server has refused.
    pub fn code(&self) -> Option<&str> {
        if let SqlError::Refused { code, .. } = self { Some(code) } else { None }
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SqlError::Refused { code, message } => write!(f, "{code}: {message}"),
            SqlError::Lost(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SqlError {}

impl From<io::Error> for SqlError {
    fn from(error: io::Error) -> Self {
        SqlError::Lost(error)
    }
}

/// A session. A transaction that it has open ends with it.
#[derive(Debug)]
pub struct SqlSession(BufReader<UnixStream>);

impl SqlSession {
    /// Connects to the database of the tests, as a user without a password.
    pub(super) fn connect(socket: &Path, user: &str) -> Result<Self, SqlError> {
        let mut session = SqlSession(BufReader::new(UnixStream::connect(socket)?));
        let mut body = PROTOCOL.to_be_bytes().to_vec();
        body.extend(format!("user\0{user}\0database\0postgres\0\0").bytes());
        session.send(&[], &body)?;
        session.answer()?;
        Ok(session)
    }

    /// Runs statements and returns their rows. NULL is an empty text.
    ///
    /// # Errors
    ///
    /// [`SqlError`] if the connection has ended, or if the server refuses a statement.
    pub fn run(&mut self, text: &str) -> Result<Vec<Vec<String>>, SqlError> {
        let sent = self.send(b"Q", format!("{text}\0").as_bytes());
        // A server that has ended the session has sent the reason.
        let rows = self.answer()?;
        sent?;
        Ok(rows)
    }

    fn send(&mut self, kind: &[u8], body: &[u8]) -> io::Result<()> {
        let length = u32::try_from(body.len() + 4).expect("statements are short").to_be_bytes();
        self.0.get_mut().write_all(&[kind, &length, body].concat())
    }

    /// Reads until the server is ready for the next statements.
    fn answer(&mut self) -> Result<Vec<Vec<String>>, SqlError> {
        let (mut rows, mut result) = (Vec::new(), Ok(()));
        loop {
            let mut head = [0; 5];
            if let Err(error) = self.0.read_exact(&mut head) {
                // The last message of the server is the reason why it has closed the connection.
                return Err(result.err().unwrap_or(SqlError::Lost(error)));
            }
            let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
            let mut body = vec![0; length.saturating_sub(4)];
            self.0.read_exact(&mut body)?;
            match head[0] {
                b'Z' => return result.map(|()| rows),
                b'D' => rows.push(row(&body)),
                b'E' => result = Err(refusal(&body)),
                b'R' if body != [0; 4] => return Err(io::Error::other("the server wants a password").into()),
                _ => {}
            }
        }
    }
}

/// The values of a row.
fn row(mut body: &[u8]) -> Vec<String> {
    let mut take = |count: usize| {
        let (taken, rest) = body.split_at(count.min(body.len()));
        body = rest;
        taken
    };
    let count = take(2).iter().fold(0, |number, byte| number << 8 | usize::from(*byte));
    let value = |_| {
        let length = take(4).try_into().map_or(-1, i32::from_be_bytes);
        String::from_utf8_lossy(take(usize::try_from(length).unwrap_or(0))).into_owned()
    };
    (0..count).map(value).collect()
}

/// The fields of an error: each is a letter and a text.
fn refusal(body: &[u8]) -> SqlError {
    let text = String::from_utf8_lossy(body);
    let field = |letter| text.split('\0').find_map(|field| field.strip_prefix(letter)).unwrap_or_default().to_owned();
    SqlError::Refused { code: field('C'), message: field('M') }
}
