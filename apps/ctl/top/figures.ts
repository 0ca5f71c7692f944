const NOT_KNOWN = '–'

/** Formats a number with three significant digits: `0.12`, `3,180`, `48.1k`, `2.05M`. */
export function formatCount(value: number): string {
  if (value >= 999_500) return `${toDigits(value / 1e6)}M`
  if (value >= 9_999.5) return `${toDigits(value / 1e3)}k`
  return toDigits(value).replace(/\B(?=(?:\d{3})+$)/, ',')
}

/** Formats a duration: `40ms`, `0.4s`, `31s`, `12min`. */
export function formatMs(ms: number | null): string {
  if (ms === null) return NOT_KNOWN
  if (ms === 0) return '0s'
  if (ms < 100) return `${Math.ceil(ms)}ms`
  const s = ms / 1_000
  if (s < 10) return `${s.toFixed(1)}s`
  return s < 100 ? `${s.toFixed(0)}s` : `${(s / 60).toFixed(0)}min`
}

/** Formats a part of 1 as a percentage: `0.02%`, `41%`. */
export function formatShare(share: number | null): string {
  return share === null ? NOT_KNOWN : `${toDigits(share * 100)}%`
}

function toDigits(value: number): string {
  if (value >= 100) return value.toFixed(0)
  return String(Number(value.toFixed(value >= 10 ? 1 : 2)))
}
