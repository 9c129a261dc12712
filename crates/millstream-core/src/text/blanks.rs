//! Finds the ends of words, 64 bytes at a time.
//!
//! All ends are found before any word is hashed: the start of a word then does not depend on the previous one, and the
//! processor hashes several words at once. Word lengths are unpredictable, so nothing here branches on them; a
//! mispredicted branch costs as much as a word.

/// Bytes per step: one bit each fits in a `u64`.
const SPAN: usize = 64;
/// Number of ends that are written for a span without counting them first.
const USUAL: usize = 12;

/// The blanks of a span, one bit per byte, the first byte in the lowest bit.
#[inline(always)]
fn blanks(span: &[u8; SPAN]) -> u64 {
    // All x86-64 processors have SSE2.
    #[cfg(target_arch = "x86_64")]
    if let Some(sse2) = pulp::core_arch::x86::Sse2::try_new() {
        let mut bits = 0;
        for (place, sixteen) in span.as_chunks::<16>().0.iter().enumerate() {
            let equal = sse2._mm_cmpeq_epi8(bytemuck::cast(*sixteen), sse2._mm_set1_epi8(b' ' as i8));
            bits |= (sse2._mm_movemask_epi8(equal) as u64) << (16 * place);
        }
        return bits;
    }
    let mut bits = 0;
    for (place, eight) in span.as_chunks::<8>().0.iter().enumerate() {
        let ones = u64::from_le_bytes(eight.map(|byte| u8::from(byte == b' ')));
        // The highest byte of the product has one bit of each byte.
        bits |= (ones.wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * place);
    }
    bits
}

/// The ends of the words in the first `length` bytes: each blank, and the end.
#[inline(always)]
pub fn word_ends<'e>(bytes: &[u8], length: usize, ends: &'e mut Vec<u32>) -> &'e [u32] {
    if ends.len() < length + SPAN {
        ends.resize(length + SPAN, 0);
    }
    let mut count = 0;
    let mut at = 0;
    while at < length {
        let rest = &bytes[at..];
        let mut bits = match rest.first_chunk() {
            Some(span) => blanks(span),
            None => blanks(&padded(rest)),
        };
        if length - at < SPAN {
            bits &= (1 << (length - at)) - 1;
        }
        let Some(room) = ends[count..].first_chunk_mut::<SPAN>() else { break };
        count += bits.count_ones() as usize;
        for end in &mut room[..USUAL] {
            *end = at as u32 + bits.trailing_zeros();
            bits &= bits.wrapping_sub(1);
        }
        for end in &mut room[USUAL..] {
            if bits == 0 {
                break;
            }
            *end = at as u32 + bits.trailing_zeros();
            bits &= bits - 1;
        }
        at += SPAN;
    }
    ends[count] = length as u32;
    &ends[..=count]
}

#[cold]
fn padded(bytes: &[u8]) -> [u8; SPAN] {
    let mut span = [0; SPAN];
    span[..bytes.len()].copy_from_slice(bytes);
    span
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ends_are_where_blanks_are(
            bytes in prop::collection::vec(prop_oneof![Just(b' '), Just(b'a'), any::<u8>()], 0..400),
            cuts in (0..400usize, 0..400usize),
        ) {
            let cut = |cut: usize| cut.min(bytes.len());
            let (from, to) = (cut(cuts.0.min(cuts.1)), cut(cuts.0.max(cuts.1)));
            let words = bytes[from..to].split(|&byte| byte == b' ');
            let mut end = 0;
            let wanted: Vec<u32> = words.map(|word| { end += word.len() as u32 + 1; end - 1 }).collect();
            // Remains of an earlier text are ignored.
            let mut ends = vec![7; cuts.0];
            prop_assert_eq!(word_ends(&bytes[from..], to - from, &mut ends), &wanted[..]);
        }
    }
}
