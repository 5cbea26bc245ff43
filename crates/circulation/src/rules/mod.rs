//! Circulation rules: the text that selects the policies for an item and a patron.
//!
//! Routes: `/circulation/rules` (validated) and `/circulation-rules-storage` (not validated), each GET and PUT of the
//! one text; `/circulation/rules/{loan,request,notice,overdue-fine,lost-item}-policy` and `…-all`, which return the
//! selected policies. Reads rules, policies' ids, locations; changes the text; announces `circulation.rules`.

mod look_up;
mod text;

use carrel_platform::Router;

pub fn connect(router: &mut Router) {
    text::connect(router);
    look_up::connect(router);
}
