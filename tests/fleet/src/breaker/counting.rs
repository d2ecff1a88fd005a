//! A store that counts the operations of another, each of which is one statement.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use bulklink_breaker::{ProbeId, Settings};
use bulklink_fleet::circuits::{Asked, CircuitStore, Force, Forced, Report, Reported, Row};
use bulklink_fleet::{Name, Namespace, StoreError};

/// What an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Statement {
    Report,
    /// Any other one.
    Other,
}

/// The operations so far, and when each of them began.
#[derive(Clone, Debug, Default)]
pub(super) struct Statements(Arc<Mutex<Vec<(Statement, Instant)>>>);

impl Statements {
    pub(super) fn all(&self) -> Vec<(Statement, Instant)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, statement: Statement) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((statement, Instant::now()));
    }
}

/// A store that counts.
pub(super) struct Counting<S> {
    store: S,
    statements: Statements,
}

impl<S> Counting<S> {
    pub(super) fn new(store: S) -> Self {
        Counting { store, statements: Statements::default() }
    }

    pub(super) fn statements(&self) -> Statements {
        self.statements.clone()
    }

    fn other(&self) -> &S {
        self.statements.note(Statement::Other);
        &self.store
    }
}

impl<S: CircuitStore> CircuitStore for Counting<S> {
    type Changes = S::Changes;

    async fn load(&self, name: &Name, settings: &Settings) -> Result<Row, StoreError> {
        self.other().load(name, settings).await
    }

    async fn admit_probe(&self, name: &Name, settings: &Settings, id: ProbeId) -> Result<Asked, StoreError> {
        self.other().admit_probe(name, settings, id).await
    }

    async fn report(&self, name: &Name, settings: &Settings, report: &Report) -> Result<Reported, StoreError> {
        self.statements.note(Statement::Report);
        self.store.report(name, settings, report).await
    }

    async fn force(&self, name: &Name, expected: Option<u64>, force: Force) -> Result<Forced, StoreError> {
        self.other().force(name, expected, force).await
    }

    async fn changes(&self, namespace: &Namespace) -> Result<Self::Changes, StoreError> {
        self.other().changes(namespace).await
    }

    async fn list(&self, namespace: &Namespace) -> Result<Vec<(Name, Row)>, StoreError> {
        self.other().list(namespace).await
    }
}
