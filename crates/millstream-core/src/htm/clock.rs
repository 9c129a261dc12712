//! Codes of a time: time of day, day of the week, weekend and season. Times are seconds since 1970, without time zones.
//!
//! A periodic part of n bits has its `n_active` bits around the position of the time in the period. As in NuPIC, the time
//! of day has a radius of 9.49 hours: times that are further apart share no bits. The radius of the day of the week is a
//! day, and that of the season a quarter of a year.

const DAY: f64 = 86_400.0;
/// Mean length in the Gregorian calendar.
const YEAR: f64 = 365.2425 * DAY;
/// 1970 began on a Thursday.
const FIRST_MONDAY: f64 = 4.0 * DAY;
const HOURS_OF_RADIUS: f64 = 9.49;

/// Active bits of each part; 0 leaves it out.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock {
    pub time_of_day: u32,
    pub day_of_week: u32,
    pub weekend: u32,
    pub season: u32,
}

impl Clock {
    fn day_bits(&self) -> u32 {
        (f64::from(self.time_of_day) * 24.0 / HOURS_OF_RADIUS).ceil() as u32
    }

    pub fn n_bits(&self) -> usize {
        (self.day_bits() + 7 * self.day_of_week + 2 * self.weekend + 4 * self.season) as usize
    }

    /// Add the active bits of a finite time, from `first` on.
    pub fn push(&self, time: f64, first: u32, bits: &mut Vec<u32>) {
        let mut first = first;
        let weekday = ((time - FIRST_MONDAY) / DAY).rem_euclid(7.0);
        let periodic = [
            (self.time_of_day, self.day_bits(), (time / DAY).rem_euclid(1.0)),
            (self.day_of_week, 7 * self.day_of_week, weekday / 7.0),
            (self.season, 4 * self.season, (time / YEAR).rem_euclid(1.0)),
        ];
        for (n_active, n_bits, position) in periodic {
            if n_active > 0 {
                let start = (position * f64::from(n_bits)) as u32 + n_bits - n_active / 2;
                bits.extend((start..start + n_active).map(|bit| first + bit % n_bits));
                first += n_bits;
            }
        }
        let start = first + if weekday >= 5.0 { self.weekend } else { 0 };
        bits.extend(start..start + self.weekend);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(clock: Clock, time: f64) -> Vec<u32> {
        let mut bits = Vec::new();
        clock.push(time, 0, &mut bits);
        bits.sort_unstable();
        bits
    }

    /// Three active bits of ⌈3 · 24/9.49⌉ = 8: 06:00 is a quarter of a day, so bit 2 and its neighbours. Midnight wraps.
    #[test]
    fn times_of_day_by_hand() {
        let clock = Clock { time_of_day: 3, ..Clock::default() };
        assert_eq!(clock.n_bits(), 8);
        assert_eq!(bits(clock, 6.0 * 3600.0), [1, 2, 3]);
        assert_eq!(bits(clock, 10.0 * DAY), [0, 1, 7]);
        assert_eq!(bits(clock, -1.0), [0, 6, 7]);
    }

    /// 1970-01-03 was a Saturday, 1970-01-05 a Monday.
    #[test]
    fn weekends_by_hand() {
        let clock = Clock { weekend: 2, ..Clock::default() };
        assert_eq!(bits(clock, 2.0 * DAY), [2, 3]);
        assert_eq!(bits(clock, 4.0 * DAY - 1.0), [2, 3]);
        assert_eq!(bits(clock, 4.0 * DAY), [0, 1]);
        let week = Clock { day_of_week: 1, ..Clock::default() };
        assert_eq!((bits(week, 4.0 * DAY), bits(week, 2.5 * DAY)), (vec![0], vec![5]));
        let season = Clock { season: 1, ..Clock::default() };
        assert_eq!((bits(season, 0.0), bits(season, 200.0 * DAY)), (vec![0], vec![2]));
    }
}
