//! The suite of all stores.

use bulklink_tokio::Tokio;

use crate::world::{Postgresql, on_tokio};

macro_rules! link_test {
    ($test:path) => {
        on_tokio(async { $test(bulklink_servers::require!(Postgresql::start().await)).await })
    };
}

macro_rules! fleet_test {
    ($test:path) => {
        on_tokio(async { $test(bulklink_servers::require!(Postgresql::start().await), Tokio).await })
    };
}

mod links {
    use super::*;

    bulklink_stores::link_tests!(link_test);
}

mod fleets {
    use super::*;

    bulklink_stores::fleet_tests!(fleet_test);
}
