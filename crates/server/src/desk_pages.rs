//! The staff desk's pages, which are part of the program.
//!
//! Routes: `/desk`, `/desk/{file}`, `/desk/assets/{file}`. They need no token: the pages contain no data of a library.

use carrel_desk_pages::{Page, find};
use carrel_platform::{Answer, Call, Router};
use carrel_records::Failure;
use http::{StatusCode, header};

/// Names of assets contain a hash of their content, so a browser may keep them for a year.
const ONE_YEAR: &str = "public, max-age=31536000, immutable";

/// Everything comes from this server. Slips may contain images of the library, as `data:` URLs.
const CONTENT_SECURITY_POLICY: &str = "default-src 'self'; img-src 'self' data:; object-src 'none'; \
                                       base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

pub fn connect(router: &mut Router) {
    router.on("GET", "/desk", |call| async move { first_page(&call) });
    router.on("GET", "/desk/{file}", |call| async move { page(&call, call.parameter(0)) });
    router.on("GET", "/desk/assets/{file}", |call| async move {
        page(&call, &format!("assets/{}", call.parameter(0)))
    });
}

fn first_page(call: &Call) -> Result<Answer, Failure> {
    match find("index.html") {
        Some(page) => Ok(answer(call, page)),
        None => Ok(Answer::html(include_str!("desk-not-built.html"))),
    }
}

fn page(call: &Call, name: &str) -> Result<Answer, Failure> {
    find(name)
        .map(|page| answer(call, page))
        .ok_or_else(|| Failure::NotFound(format!("The desk has no file {name}")))
}

fn answer(call: &Call, page: &'static Page) -> Answer {
    let cache = if page.is_immutable() { ONE_YEAR } else { "no-cache" };
    let gzip = page.gzip.filter(|_| accepts_gzip(call.header("accept-encoding").unwrap_or_default()));
    let mut answer = Answer::html(String::new())
        .header(header::CACHE_CONTROL, cache)
        .header(header::ETAG, page.etag)
        .header(header::VARY, "accept-encoding")
        .header(header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY);
    answer.content_type = page.content_type;
    if call.header("if-none-match").is_some_and(|known| names_tag(known, page.etag)) {
        return answer.status(StatusCode::NOT_MODIFIED);
    }
    match gzip {
        Some(compressed) => {
            answer.body = compressed.to_vec();
            answer.header(header::CONTENT_ENCODING, "gzip")
        }
        None => {
            answer.body = page.content.to_vec();
            answer
        }
    }
}

fn names_tag(list: &str, tag: &str) -> bool {
    list.split(',').map(str::trim).any(|known| known == "*" || known.trim_start_matches("W/") == tag)
}

fn accepts_gzip(list: &str) -> bool {
    list.split(',').any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let refused = weight.trim().strip_prefix("q=").is_some_and(|q| q.trim_matches(['0', '.']).is_empty());
        name.trim().eq_ignore_ascii_case("gzip") && !refused
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_of_zero_refuses_gzip() {
        assert!(accepts_gzip("gzip, deflate"));
        assert!(accepts_gzip("br;q=1, GZIP;q=0.5"));
        assert!(!accepts_gzip("gzip;q=0"));
        assert!(!accepts_gzip("gzip;q=0.00, br"));
        assert!(!accepts_gzip("identity"));
    }

    #[test]
    fn a_weak_tag_in_a_list_is_recognized() {
        assert!(names_tag("\"a\", W/\"b\"", "\"b\""));
        assert!(!names_tag("\"a\"", "\"b\""));
    }
}
