//! The house itself: what is seen from outside, tenants, routes.

mod health;
