//! Logical changes as PostgreSQL's plugin `pgoutput` writes them, protocol version 1, values as text.

use std::collections::HashMap;

/// A message of the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The columns of a table; sent before the first change of it.
    Table(u32, Table),
    Insert {
        table: u32,
        new: Vec<Value>,
    },
    /// With the old key where it has changed.
    Update {
        table: u32,
        old_key: Option<Vec<Value>>,
        new: Vec<Value>,
    },
    Delete {
        table: u32,
        old_key: Vec<Value>,
    },
    Truncate {
        tables: Vec<u32>,
        cascades: bool,
    },
    /// The beginning or end of a transaction, and what carries no rows.
    Other,
}

/// A table with its columns; `true` for those of its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    pub name: String,
    pub columns: Vec<(String, bool)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    Null,
    /// A large value that this change has left as it was.
    Unchanged,
    Text(String),
}

/// Reads one message; the reason if it cannot be understood.
pub fn read(message: &[u8]) -> Result<Change, String> {
    let mut bytes = Bytes(message);
    match bytes.byte()? {
        b'R' => {
            let id = bytes.u32()?;
            bytes.text()?;
            let name = bytes.text()?;
            bytes.byte()?;
            let mut columns = Vec::new();
            for _ in 0..bytes.u16()? {
                let is_key = bytes.byte()? & 1 == 1;
                columns.push((bytes.text()?, is_key));
                bytes.take(8)?;
            }
            Ok(Change::Table(id, Table { name, columns }))
        }
        b'I' => {
            let table = bytes.u32()?;
            bytes.expect(b'N')?;
            Ok(Change::Insert { table, new: bytes.row()? })
        }
        b'U' => {
            let table = bytes.u32()?;
            let mut kind = bytes.byte()?;
            let mut old_key = None;
            if matches!(kind, b'K' | b'O') {
                old_key = Some(bytes.row()?);
                kind = bytes.byte()?;
            }
            match kind {
                b'N' => Ok(Change::Update { table, old_key, new: bytes.row()? }),
                other => Err(format!("an update with a part {other}")),
            }
        }
        b'D' => {
            let table = bytes.u32()?;
            bytes.byte()?;
            Ok(Change::Delete { table, old_key: bytes.row()? })
        }
        b'T' => {
            let number = bytes.u32()?;
            let cascades = bytes.byte()? & 1 == 1;
            let tables = (0..number).map(|_| bytes.u32()).collect::<Result<_, _>>()?;
            Ok(Change::Truncate { tables, cascades })
        }
        b'B' | b'C' | b'O' | b'Y' | b'M' => Ok(Change::Other),
        other => Err(format!("a message of kind {other}")),
    }
}

struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, number: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self.0.split_at_checked(number).ok_or("a message that ends too early")?;
        self.0 = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, String> {
        Ok(self.take(1)?[0])
    }

    fn u16(&mut self) -> Result<u16, String> {
        Ok(u16::from_be_bytes(self.take(2)?.try_into().map_err(|_| "two bytes")?))
    }

    fn u32(&mut self) -> Result<u32, String> {
        Ok(u32::from_be_bytes(self.take(4)?.try_into().map_err(|_| "four bytes")?))
    }

    fn expect(&mut self, expected: u8) -> Result<(), String> {
        match self.byte()? {
            found if found == expected => Ok(()),
            found => Err(format!("a part {found} in place of {expected}")),
        }
    }

    /// Text that ends with a zero.
    fn text(&mut self) -> Result<String, String> {
        let end = self.0.iter().position(|byte| *byte == 0).ok_or("a name without an end")?;
        let text = utf8(self.take(end)?)?;
        self.byte()?;
        Ok(text)
    }

    fn row(&mut self) -> Result<Vec<Value>, String> {
        (0..self.u16()?).map(|_| self.value()).collect()
    }

    fn value(&mut self) -> Result<Value, String> {
        match self.byte()? {
            b'n' => Ok(Value::Null),
            b'u' => Ok(Value::Unchanged),
            b't' => {
                let length = self.u32()? as usize;
                Ok(Value::Text(utf8(self.take(length)?)?))
            }
            other => Err(format!("a value of kind {other}")),
        }
    }
}

fn utf8(bytes: &[u8]) -> Result<String, String> {
    String::from_utf8(bytes.to_vec()).map_err(|_| "text that is not UTF-8".to_owned())
}

/// A snapshot as PostgreSQL writes it (`xmin:xmax:xip,…`): which transactions it shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    oldest_running: u64,
    next: u64,
    running: Vec<u64>,
}

impl Snapshot {
    pub fn read(text: &str) -> Option<Snapshot> {
        let mut parts = text.split(':');
        let oldest_running = parts.next()?.parse().ok()?;
        let next = parts.next()?.parse().ok()?;
        let running = parts.next().unwrap_or_default().split(',').filter(|id| !id.is_empty());
        Some(Snapshot {
            oldest_running,
            next,
            running: running.map(|id| id.parse().ok()).collect::<Option<_>>()?,
        })
    }

    /// Whether it shows what a transaction has committed, by the lower 32 bits of its number.
    pub fn shows(&self, transaction: u32) -> bool {
        // The number that is nearest to those of the snapshot.
        let distance = transaction.wrapping_sub(self.next as u32) as i32;
        let full = self.next.wrapping_add_signed(i64::from(distance));
        full < self.oldest_running || (full < self.next && !self.running.contains(&full))
    }
}

/// The tables of the stream by their number in it.
pub type Tables = HashMap<u32, Table>;

#[cfg(test)]
mod tests {
    use super::*;

    fn message(parts: &[&[u8]]) -> Vec<u8> {
        parts.concat()
    }

    #[test]
    fn a_table_is_sent_with_its_columns() {
        let bytes = message(&[
            b"R\0\0\0\x07library_x\0item\0d\0\x02",
            b"\x01id\0\0\0\x0b\x86\xff\xff\xff\xff",
            b"\x00doc\0\0\0\x0e\xda\xff\xff\xff\xff",
        ]);
        let table = Table { name: "item".into(), columns: vec![("id".into(), true), ("doc".into(), false)] };
        assert_eq!(read(&bytes), Ok(Change::Table(7, table)));
    }

    #[test]
    fn an_update_says_what_it_has_left_and_which_key_it_had() {
        let bytes = message(&[b"U\0\0\0\x07K\0\x02t\0\0\0\x01an", b"N\0\x02t\0\0\0\x01bu"]);
        let text = |text: &str| Value::Text(text.into());
        let expected = Change::Update {
            table: 7,
            old_key: Some(vec![text("a"), Value::Null]),
            new: vec![text("b"), Value::Unchanged],
        };
        assert_eq!(read(&bytes), Ok(expected));
    }

    #[test]
    fn a_message_that_ends_too_early_is_refused() {
        let whole = message(&[b"I\0\0\0\x07N\0\x01t\0\0\0\x03abc"]);
        assert!(read(&whole).is_ok());
        for end in 0..whole.len() {
            assert!(read(&whole[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn a_snapshot_shows_what_was_committed_before_it() {
        let snapshot = Snapshot::read("100:105:100,103").expect("a snapshot");
        let shown: Vec<u32> = (98..107).filter(|number| snapshot.shows(*number)).collect();
        assert_eq!(shown, [98, 99, 101, 102, 104]);
        // Numbers of transactions begin anew after 32 bits.
        let late = Snapshot::read("4294967294:4294967298:4294967297").expect("a snapshot");
        let shown: Vec<u32> =
            [u32::MAX - 2, u32::MAX, 0, 1, 2].into_iter().filter(|number| late.shows(*number)).collect();
        assert_eq!(shown, [u32::MAX - 2, u32::MAX, 0]);
    }
}
