//! How good predictions are: functions of weighted sums, plain, rolling or fading.
