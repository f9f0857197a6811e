//! As much of JSON as the header of a safetensors file needs: read member by member, without a tree.

use ferromix_base::{Error, Result};

/// Arrays and objects in each other, in what nobody asked for.
const MAX_DEPTH: usize = 32;

/// A position in a text that may be anything.
pub(crate) struct Json<'a> {
    name: &'a str,
    text: &'a [u8],
    at: usize,
    /// Where the text begins in the file.
    start: u64,
}

impl<'a> Json<'a> {
    pub(crate) fn new(name: &'a str, text: &'a [u8], start: u64) -> Self {
        Json {
            name,
            text,
            at: 0,
            start,
        }
    }

    /// The offset of the next byte in the file.
    pub(crate) fn offset(&self) -> u64 {
        self.start + self.at as u64
    }

    /// An error about what stands at `offset`.
    pub(crate) fn error(
        &self,
        offset: u64,
        expected: impl std::fmt::Display,
        found: impl std::fmt::Display,
    ) -> Error {
        Error::io(format!(
            "{}: at byte {offset}: expected {expected}, found {found}",
            self.name
        ))
    }

    fn here(&self, expected: impl std::fmt::Display) -> Error {
        let found = match self.text.get(self.at) {
            Some(&byte) => format!("'{}'", byte.escape_ascii()),
            None => "the end of the header".to_owned(),
        };
        self.error(self.offset(), expected, found)
    }

    /// The next byte behind white space.
    fn next(&mut self) -> Option<u8> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let blank = rest.iter().take_while(|b| b" \t\r\n".contains(b)).count();
        self.at += blank;
        self.text.get(self.at).copied()
    }

    /// Takes `byte`, if it is next.
    fn took(&mut self, byte: u8) -> bool {
        let found = self.next() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Result<()> {
        match self.took(byte) {
            true => Ok(()),
            false => Err(self.here(format_args!("'{}'", byte as char))),
        }
    }

    /// Nothing but white space follows.
    pub(crate) fn end(&mut self) -> Result<()> {
        match self.next() {
            None => Ok(()),
            Some(_) => Err(self.here("the end of the header")),
        }
    }

    /// Each member of an object: `member` reads its value.
    pub(crate) fn members(
        &mut self,
        mut member: impl FnMut(&mut Self, String) -> Result<()>,
    ) -> Result<()> {
        self.expect(b'{')?;
        if self.took(b'}') {
            return Ok(());
        }
        loop {
            self.next();
            let key = self.string()?;
            self.expect(b':')?;
            member(self, key)?;
            if !self.took(b',') {
                return self.expect(b'}');
            }
        }
    }

    /// Each item of an array.
    pub(crate) fn items(&mut self, mut item: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        self.expect(b'[')?;
        if self.took(b']') {
            return Ok(());
        }
        loop {
            item(self)?;
            if !self.took(b',') {
                return self.expect(b']');
            }
        }
    }

    /// A number without sign and fraction.
    pub(crate) fn integer(&mut self) -> Result<u64> {
        self.next();
        let rest = self.text.get(self.at..).unwrap_or_default();
        let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        let found = rest.get(..digits).unwrap_or_default();
        let ends = !matches!(rest.get(digits), Some(b'.' | b'e' | b'E'));
        let plain = digits > 0 && ends && (digits == 1 || found.first() != Some(&b'0'));
        let number = std::str::from_utf8(found).ok().and_then(|d| d.parse().ok());
        match number.filter(|_| plain) {
            Some(number) => {
                self.at += digits;
                Ok(number)
            }
            None => Err(self.here("a number of 0 or more below 2^64")),
        }
    }

    /// A text in quotes.
    pub(crate) fn string(&mut self) -> Result<String> {
        self.next();
        let offset = self.offset();
        self.expect(b'"')?;
        let mut bytes = Vec::new();
        loop {
            let Some(&byte) = self.text.get(self.at) else {
                return Err(self.here("'\"'"));
            };
            self.at += 1;
            match byte {
                b'"' => break,
                b'\\' => self.escape(&mut bytes)?,
                0..0x20 => {
                    self.at -= 1;
                    return Err(self.here("no control character in a text"));
                }
                _ => bytes.push(byte),
            }
        }
        String::from_utf8(bytes).map_err(|error| self.error(offset, "a text in UTF-8", error))
    }

    fn escape(&mut self, out: &mut Vec<u8>) -> Result<()> {
        let Some(&byte) = self.text.get(self.at) else {
            return Err(self.here("an escaped character"));
        };
        self.at += 1;
        let plain = match byte {
            b'"' | b'\\' | b'/' => byte,
            b'b' => 8,
            b'f' => 12,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'u' => {
                let character = self.unicode()?;
                out.extend(character.encode_utf8(&mut [0; 4]).bytes());
                return Ok(());
            }
            _ => {
                self.at -= 1;
                return Err(self.here("an escaped character"));
            }
        };
        out.push(plain);
        Ok(())
    }

    /// What follows `\u`: four digits, or twice four for a character beyond the first 65536.
    fn unicode(&mut self) -> Result<char> {
        let offset = self.offset();
        let mut unit = self.hex()?;
        if (0xD800..0xDC00).contains(&unit) && self.text.get(self.at..self.at + 2) == Some(b"\\u") {
            self.at += 2;
            let low = self.hex()?;
            if (0xDC00..0xE000).contains(&low) {
                unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
            }
        }
        let found = format_args!("{unit:#x}");
        char::from_u32(unit).ok_or_else(|| self.error(offset, "the number of a character", found))
    }

    fn hex(&mut self) -> Result<u32> {
        let digits = self.text.get(self.at..self.at + 4).unwrap_or_default();
        let plain = digits.len() == 4 && digits.iter().all(u8::is_ascii_hexdigit);
        let number = std::str::from_utf8(digits)
            .ok()
            .and_then(|digits| u32::from_str_radix(digits, 16).ok());
        match number.filter(|_| plain) {
            Some(number) => {
                self.at += 4;
                Ok(number)
            }
            None => Err(self.here("four hexadecimal digits")),
        }
    }

    /// Passes over a value of any kind.
    pub(crate) fn skip(&mut self) -> Result<()> {
        self.skip_within(MAX_DEPTH)
    }

    fn skip_within(&mut self, depth: usize) -> Result<()> {
        match (self.next(), depth.checked_sub(1)) {
            (Some(b'{' | b'['), None) => Err(self.here(format_args!(
                "not more than {MAX_DEPTH} arrays and objects in each other"
            ))),
            (Some(b'{'), Some(depth)) => self.members(|json, _| json.skip_within(depth)),
            (Some(b'['), Some(depth)) => self.items(|json| json.skip_within(depth)),
            (Some(b'"'), _) => self.string().map(drop),
            (Some(b't'), _) => self.word(b"true"),
            (Some(b'f'), _) => self.word(b"false"),
            (Some(b'n'), _) => self.word(b"null"),
            (Some(b'-' | b'0'..=b'9'), _) => {
                let rest = self.text.get(self.at..).unwrap_or_default();
                let part = |b: &&u8| b.is_ascii_digit() || b"+-.eE".contains(b);
                self.at += rest.iter().take_while(part).count();
                Ok(())
            }
            _ => Err(self.here("a value")),
        }
    }

    fn word(&mut self, word: &[u8]) -> Result<()> {
        if self.text.get(self.at..self.at + word.len()) != Some(word) {
            return Err(self.here(format_args!("{}", word.escape_ascii())));
        }
        self.at += word.len();
        Ok(())
    }
}

/// `text` in quotes.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            '\0'..' ' => out.push_str(&format!("\\u{:04x}", character as u32)),
            _ => out.push(character),
        }
    }
    out.push('"');
    out
}
