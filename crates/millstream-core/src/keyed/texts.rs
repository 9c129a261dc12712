//! The texts of keys, by number.

/// Each text in use has a number, by which slots refer to it.
#[derive(Clone, Default)]
pub struct Texts {
    texts: Vec<Box<str>>,
    free: Vec<u32>,
    bytes: usize,
}

impl Texts {
    pub fn add(&mut self, text: &str) -> u64 {
        self.bytes += text.len();
        match self.free.pop() {
            Some(number) => {
                self.texts[number as usize] = text.into();
                u64::from(number)
            }
            None => {
                self.texts.push(text.into());
                self.texts.len() as u64 - 1
            }
        }
    }

    #[inline]
    pub fn get(&self, number: u64) -> &str {
        self.texts.get(number as usize).map_or("", |text| text)
    }

    pub fn remove(&mut self, number: u64) {
        if let Some(text) = self.texts.get_mut(number as usize) {
            self.bytes -= text.len();
            *text = Box::default();
            self.free.push(number as u32);
        }
    }

    pub fn memory(&self) -> usize {
        self.bytes + self.texts.capacity() * size_of::<Box<str>>() + self.free.capacity() * 4
    }
}
