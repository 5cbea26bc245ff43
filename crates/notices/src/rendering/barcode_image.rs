//! A barcode as a PNG image: Code 128, one bit per pixel. Pure.
//!
//! Implemented here since it is small: the bars are a table, and a PNG may contain uncompressed data.

use std::io::Write;

/// Width of the narrowest bar, in pixels.
const MODULE_PIXELS: usize = 2;
/// Height of the image, in pixels.
const HEIGHT: usize = 60;
/// Light margin on both sides, in modules; Code 128 requires ten.
const QUIET_ZONE: usize = 10;
/// Characters of a barcode, at most: longer ones do not fit on a slip.
pub const MAX_LENGTH: usize = 80;

const START_B: usize = 104;
const STOP: usize = 106;

/// Widths of bars and spaces of each symbol, beginning with a bar (ISO/IEC 15417, table 1).
const SYMBOLS: [&str; 107] = [
    "212222", "222122", "222221", "121223", "121322", "131222", "122213", "122312", "132212", "221213",
    "221312", "231212", "112232", "122132", "122231", "113222", "123122", "123221", "223211", "221132",
    "221231", "213212", "223112", "312131", "311222", "321122", "321221", "312212", "322112", "322211",
    "212123", "212321", "232121", "111323", "131123", "131321", "112313", "132113", "132311", "211313",
    "231113", "231311", "112133", "112331", "132131", "113123", "113321", "133121", "313121", "211331",
    "231131", "213113", "213311", "213131", "311123", "311321", "331121", "312113", "312311", "332111",
    "314111", "221411", "431111", "111224", "111422", "121124", "121421", "141122", "141221", "112214",
    "112412", "122114", "122411", "142112", "142211", "241211", "221114", "413111", "241112", "134111",
    "111242", "121142", "121241", "114212", "124112", "124211", "411212", "421112", "421211", "212141",
    "214121", "412121", "111143", "111341", "131141", "114113", "114311", "411113", "411311", "113141",
    "114131", "311141", "411131", "211412", "211214", "211232", "2331112",
];

/// The PNG of a barcode; `None` if it is empty, too long, or has characters other than printable ASCII.
pub fn png(barcode: &str) -> Option<Vec<u8>> {
    let modules = modules(barcode)?;
    let width = modules.len() * MODULE_PIXELS;
    let mut row = vec![0_u8; 1 + width.div_ceil(8)];
    for pixel in 0..width {
        // In a one-bit grayscale image, 1 is white.
        if !modules[pixel / MODULE_PIXELS] {
            row[1 + pixel / 8] |= 0x80 >> (pixel % 8);
        }
    }
    Some(encode(width as u32, &row.repeat(HEIGHT)))
}

/// True for each dark module, quiet zones included.
fn modules(barcode: &str) -> Option<Vec<bool>> {
    let printable = barcode.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    if barcode.is_empty() || barcode.len() > MAX_LENGTH || !printable {
        return None;
    }
    let values: Vec<usize> = barcode.bytes().map(|byte| usize::from(byte - b' ')).collect();
    let weighted: usize = values.iter().enumerate().map(|(index, value)| (index + 1) * value).sum();
    let check = (START_B + weighted) % 103;
    let mut modules = vec![false; QUIET_ZONE];
    for symbol in [START_B].into_iter().chain(values).chain([check, STOP]) {
        for (index, width) in SYMBOLS[symbol].bytes().enumerate() {
            modules.extend(std::iter::repeat_n(index % 2 == 0, usize::from(width - b'0')));
        }
    }
    modules.extend([false; QUIET_ZONE]);
    Some(modules)
}

fn encode(width: u32, rows: &[u8]) -> Vec<u8> {
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut header = Vec::new();
    header.extend(width.to_be_bytes());
    header.extend((HEIGHT as u32).to_be_bytes());
    // One bit per pixel, grayscale, the only compression and filter methods, not interlaced.
    header.extend([1, 0, 0, 0, 0]);
    chunk(&mut png, b"IHDR", &header);
    chunk(&mut png, b"IDAT", &stored(rows));
    chunk(&mut png, b"IEND", &[]);
    png
}

/// A zlib stream of uncompressed blocks.
fn stored(bytes: &[u8]) -> Vec<u8> {
    let mut stream = vec![0x78, 0x01];
    let mut blocks = bytes.chunks(0xffff).peekable();
    while let Some(block) = blocks.next() {
        let length = block.len() as u16;
        stream.push(u8::from(blocks.peek().is_none()));
        stream.extend(length.to_le_bytes());
        stream.extend((!length).to_le_bytes());
        stream.extend(block);
    }
    let (mut low, mut high) = (1_u32, 0_u32);
    for byte in bytes {
        low = (low + u32::from(*byte)) % 65_521;
        high = (high + low) % 65_521;
    }
    stream.extend((high << 16 | low).to_be_bytes());
    stream
}

fn chunk(png: &mut Vec<u8>, kind: &[u8; 4], data: &[u8]) {
    png.extend((data.len() as u32).to_be_bytes());
    let start = png.len();
    png.extend(kind);
    let _ = png.write_all(data);
    let checksum = crc(&png[start..]);
    png.extend(checksum.to_be_bytes());
}

fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(
            crc ^ u32::from(*byte),
            |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 },
        )
    })
}

#[cfg(test)]
mod tests {
    use super::{QUIET_ZONE, SYMBOLS, crc, modules, png};

    /// Reads bars back to text, as a scanner does.
    fn scanned(modules: &[bool]) -> String {
        let bars = &modules[QUIET_ZONE..modules.len() - QUIET_ZONE];
        let mut widths = String::new();
        let mut start = 0;
        for end in 1..=bars.len() {
            if end == bars.len() || bars[end] != bars[start] {
                widths.push(char::from(b'0' + (end - start) as u8));
                start = end;
            }
        }
        let symbols: Vec<usize> = (0..(widths.len() - 7) / 6)
            .map(|index| {
                let symbol = &widths[index * 6..index * 6 + 6];
                SYMBOLS.iter().position(|known| *known == symbol).expect("a symbol of the table")
            })
            .collect();
        // Without start and check symbol.
        symbols[1..symbols.len() - 1].iter().map(|value| char::from(b' ' + *value as u8)).collect()
    }

    #[test]
    fn a_barcode_reads_back_as_it_was_written() {
        for barcode in ["10001", "A-17 b", "~ !"] {
            assert_eq!(scanned(&modules(barcode).expect("printable")), barcode);
        }
    }

    #[test]
    fn every_symbol_is_eleven_modules_wide_and_the_stop_thirteen() {
        for (value, symbol) in SYMBOLS.iter().enumerate() {
            let width: u32 = symbol.bytes().map(|width| u32::from(width - b'0')).sum();
            assert_eq!(width, if value == 106 { 13 } else { 11 }, "symbol {value}");
        }
        assert_eq!(SYMBOLS.iter().collect::<std::collections::HashSet<_>>().len(), 107);
    }

    #[test]
    fn what_cannot_be_encoded_has_no_image() {
        assert_eq!((png(""), png("ü"), png(&"1".repeat(81))), (None, None, None));
    }

    #[test]
    fn the_image_is_a_png_with_valid_checksums() {
        let image = png("10001").expect("printable");
        assert_eq!(&image[..8], b"\x89PNG\r\n\x1a\n");
        // The checksum of the fixed last chunk is known.
        assert_eq!(&image[image.len() - 8..], b"IEND\xae\x42\x60\x82");
        assert_eq!(crc(b"IEND"), 0xae42_6082);
    }
}
