//! A store that counts the operations of another.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use bulklink_breaker::Settings;
use bulklink_fleet::circuits::{CircuitStore, Operation, Reply, Row};
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
}

impl<S: CircuitStore> CircuitStore for Counting<S> {
    type Changes = S::Changes;

    async fn operate(
        &self,
        name: &Name,
        settings: Option<&Settings>,
        operation: &Operation,
    ) -> Result<Reply, StoreError> {
        let is_report = matches!(operation, Operation::Report(_));
        self.statements.note(if is_report { Statement::Report } else { Statement::Other });
        self.store.operate(name, settings, operation).await
    }

    async fn changes(&self, namespace: &Namespace) -> Result<Self::Changes, StoreError> {
        self.statements.note(Statement::Other);
        self.store.changes(namespace).await
    }

    async fn list(&self, namespace: &Namespace) -> Result<Vec<(Name, Row)>, StoreError> {
        self.store.list(namespace).await
    }
}
