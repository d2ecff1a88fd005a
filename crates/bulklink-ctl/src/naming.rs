//! How the names of a command are completed.

use bulklink_fleet::{Name, Namespace};

use crate::failure::Failure;

/// The namespace, if one is set.
pub(crate) struct Naming(pub(crate) Option<String>);

impl Naming {
    /// The name of the thing with a label.
    pub(crate) fn name(&self, thing: &str, label: &str) -> Result<Name, Failure> {
        Name::new(&self.namespace()?, label).map_err(|error| Failure::usage(format!("the {thing}: {error}")))
    }

    pub(crate) fn namespace(&self) -> Result<Namespace, Failure> {
        let missing = || Failure::usage("the namespace is missing: --namespace, or BULKLINK_NAMESPACE");
        let text = self.0.as_deref().ok_or_else(missing)?;
        Namespace::new(text).map_err(|error| Failure::usage(format!("the namespace: {error}")))
    }
}
