//! Enumerations whose values are texts in FOLIO's records and answers.

/// Declares an enumeration with the text of each value: `as_str`, `parse`, `ALL`, and the text as JSON and for people.
#[macro_export]
macro_rules! text_enum {
    ($(#[$about:meta])* pub enum $name:ident { $($(#[$of_value:meta])* $value:ident = $text:literal,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$of_value])* $value,)+ }

        impl $name {
            /// Every value, in the order in which refusals list them.
            pub const ALL: &'static [$name] = &[$($name::$value,)+];

            pub const fn as_str(self) -> &'static str {
                match self { $($name::$value => $text,)+ }
            }

            /// The value of a text; case matters.
            pub fn parse(text: &str) -> Option<$name> {
                match text { $($text => Some($name::$value),)+ _ => None }
            }

            /// The value of a text in whatever case.
            pub fn parse_ignoring_case(text: &str) -> Option<$name> {
                $name::ALL.iter().copied().find(|value| value.as_str().eq_ignore_ascii_case(text))
            }
        }

        impl ::std::fmt::Display for $name {
            fn fmt(&self, to: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                to.pad(self.as_str())
            }
        }

        impl ::serde::Serialize for $name {
            fn serialize<S: ::serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.as_str())
            }
        }

        impl From<$name> for ::serde_json::Value {
            fn from(value: $name) -> Self {
                value.as_str().into()
            }
        }
    };
}
