//! Circulation rules: the library's text that chooses the policies for an item and a patron.
//!
//! Routes: `/circulation/rules` (checked) and `/circulation-rules-storage` (as it comes), each GET and PUT of the
//! one text; `/circulation/rules/{loan,request,notice,overdue-fine,lost-item}-policy` and `…-all`, which tell
//! what the rules choose. Reads rules, policies' ids, locations; changes the text; announces `circulation.rules`.

mod look_up;
mod text;

use carrel_platform::Router;

pub fn connect(router: &mut Router) {
    text::connect(router);
    look_up::connect(router);
}
