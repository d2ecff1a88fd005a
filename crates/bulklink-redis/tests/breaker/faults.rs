//! What breaks connections.
