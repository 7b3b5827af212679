//! Messages of protocol buffers, written field by field.

/// One message: its bytes so far.
#[derive(Default, Debug)]
pub(super) struct Message(pub(super) Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn key(&mut self, field: u64, wire: u64) {
        self.varint(field << 3 | wire);
    }

    /// A whole number; zero is what an absent field means.
    pub(super) fn number(&mut self, field: u64, value: u64) {
        if value != 0 {
            self.key(field, 0);
            self.varint(value);
        }
    }

    /// A whole number of a choice between fields, where zero must be said, too.
    pub(super) fn number_or_zero(&mut self, field: u64, value: u64) {
        self.key(field, 0);
        self.varint(value);
    }

    pub(super) fn double(&mut self, field: u64, value: f64) {
        self.key(field, 1);
        self.0.extend(value.to_le_bytes());
    }

    pub(super) fn float(&mut self, field: u64, value: f32) {
        self.key(field, 5);
        self.0.extend(value.to_le_bytes());
    }

    pub(super) fn bytes(&mut self, field: u64, value: &[u8]) {
        self.key(field, 2);
        self.varint(value.len() as u64);
        self.0.extend(value);
    }

    pub(super) fn text(&mut self, field: u64, value: &str) {
        self.bytes(field, value.as_bytes());
    }

    /// A message inside this one.
    pub(super) fn message(&mut self, field: u64, body: impl FnOnce(&mut Message)) {
        let mut inner = Message::default();
        body(&mut inner);
        self.bytes(field, &inner.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_written_as_protocol_buffers_say() {
        let mut message = Message::default();
        message.number(1, 150);
        message.text(2, "testing");
        message.message(3, |inner| inner.number(1, 150));
        let wanted =
            [&[0x08, 0x96, 0x01, 0x12, 0x07][..], b"testing", &[0x1a, 0x03, 0x08, 0x96, 0x01]].concat();
        assert_eq!(message.0, wanted);
    }
}
