// Formatting of numbers, times and sizes.

export const NONE = "–";

export function count(value) {
  return value === null || value === undefined ? NONE : Math.round(value).toLocaleString("en-US");
}

// A figure with four significant digits.
export function figure(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return NONE;
  if (value !== 0 && (Math.abs(value) >= 1e6 || Math.abs(value) < 1e-4)) return value.toExponential(2);
  const digits = Math.max(0, 4 - Math.max(1, Math.floor(Math.log10(Math.abs(value) || 1)) + 1));
  return value
    .toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })
    .replace("-", "−");
}

// A number on an axis: 0.25, 1,500, 20k, 1.5M.
export function short(value) {
  for (const [size, by, unit] of [
    [1e9, 1e9, "G"],
    [1e6, 1e6, "M"],
    [1e4, 1e3, "k"],
  ]) {
    if (Math.abs(value) >= size && Math.abs(value) < 1e15) return `${Number((value / by).toPrecision(4))}${unit}`;
  }
  const text =
    Math.abs(value) < 1e4 && Number.isInteger(value)
      ? value.toLocaleString("en-US")
      : String(Number(value.toPrecision(4)));
  return text.replace("-", "−");
}

export function rate(value) {
  if (value === null || value === undefined) return NONE;
  return value >= 100 || value === 0 ? count(value) : String(Number(value.toPrecision(value < 10 ? 2 : 3)));
}

export function bytes(value) {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let place = 0;
  for (; value >= 1000 && place < units.length - 1; place += 1) value /= 1000;
  return `${place && value < 100 ? value.toFixed(1) : Math.round(value)} ${units[place]}`;
}

// A span of time in seconds, from microseconds to days.
export function span(seconds) {
  if (seconds === null || seconds === undefined) return NONE;
  if (seconds === 0) return "0 s";
  if (seconds < 1e-3) return `${Number((seconds * 1e6).toPrecision(3))} µs`;
  if (seconds < 1) return `${Number((seconds * 1e3).toPrecision(3))} ms`;
  if (seconds < 60) return `${Number(seconds.toPrecision(seconds < 10 ? 2 : 3))} s`;
  const whole = Math.round(seconds);
  if (whole < 3600) return pair(Math.floor(whole / 60), "min", whole % 60, "s");
  if (whole < 86400) return pair(Math.floor(whole / 3600), "h", Math.floor((whole % 3600) / 60), "min");
  return pair(Math.floor(whole / 86400), "d", Math.floor((whole % 86400) / 3600), "h");
}

function pair(large, unit, small, smaller) {
  return small ? `${large} ${unit} ${small} ${smaller}` : `${large} ${unit}`;
}

export function ago(then, now) {
  const seconds = Math.max(0, Math.round((now - then) / 1000));
  return seconds < 2 ? "just now" : `${span(seconds)} ago`;
}

export function moment(time) {
  const at = new Date(time);
  const today = new Date().toDateString() === at.toDateString();
  const clock = at.toLocaleTimeString("en-GB");
  return today ? clock : `${at.toLocaleDateString("en-CA")} ${clock}`;
}

export function percent(part, whole) {
  if (!whole) return NONE;
  const value = (100 * part) / whole;
  return value > 0 && value < 0.1 ? "< 0.1 %" : `${value.toFixed(1)} %`;
}

export function plural(number, noun) {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}

export function signed(value) {
  return value.toFixed(2).replace("-", "−");
}
