//! The pages of the staff desk, embedded from `web/dist` at compile time.
//!
//! A clone without a built desk compiles as well: the list is then empty, and the server reports that.

/// A file of the desk.
#[derive(Debug)]
pub struct Page {
    /// Its path below `/desk/`, for instance `index.html` or `assets/index-3f2a.js`.
    pub name: &'static str,
    pub content_type: &'static str,
    /// The entity tag with its quotes; it changes with the content.
    pub etag: &'static str,
    pub content: &'static [u8],
    /// The same content compressed, if that is smaller.
    pub gzip: Option<&'static [u8]>,
}

impl Page {
    /// Whether the name contains a hash of the content, so that a copy never becomes stale.
    pub fn is_immutable(&self) -> bool {
        self.name.starts_with("assets/")
    }
}

/// All files, ordered by name.
pub static PAGES: &[Page] = &include!(concat!(env!("OUT_DIR"), "/pages.rs"));

/// The file with this path below `/desk/`.
pub fn find(name: &str) -> Option<&'static Page> {
    PAGES.iter().find(|page| page.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_found_by_its_name() {
        for page in PAGES {
            assert!(find(page.name).is_some_and(|found| std::ptr::eq(found, page)));
        }
    }

    #[test]
    fn a_desk_that_was_built_has_a_first_page() {
        assert!(PAGES.is_empty() || find("index.html").is_some());
    }

    #[test]
    fn names_outside_the_list_are_not_found() {
        assert!(find("../Cargo.toml").is_none());
    }
}
