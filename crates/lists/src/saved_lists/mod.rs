//! Lists: a stored query with its owner, versions, and last result.
//!
//! Routes: `/lists…`. `decide` has the rules, `store` reads and writes lists, `view` formats them.

mod decide;
mod refresh;
mod route;
mod store;
mod view;

pub use decide::{refuse_if_inactive, refuse_if_private_of_another, refuse_if_refreshing};
pub use route::{connect, of_permitted_type, permitted};
pub use store::List;

/// A file's name for `Content-Disposition`, as ASCII and percent-encoded.
pub fn named(file: &str) -> String {
    let plain: String = file
        .chars()
        .map(|letter| {
            if letter.is_ascii_graphic() && !matches!(letter, '"' | '\\') || letter == ' ' {
                letter
            } else {
                '_'
            }
        })
        .collect();
    let mut encoded = String::new();
    for byte in file.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' => encoded.push(char::from(byte)),
            byte => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    format!("filename=\"{plain}\"; filename*=UTF-8''{encoded}")
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_file_is_named_in_plain_letters_and_as_it_is() {
        assert_eq!(
            super::named("Vermißt \"1\".csv"),
            "filename=\"Vermi_t _1_.csv\"; filename*=UTF-8''Vermi%C3%9Ft%20%221%22.csv"
        );
    }
}
