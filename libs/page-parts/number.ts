const WHOLE = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const SHORT = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 })

/** Formats a number with every digit, in groups. */
export function whole(value: number): string {
  return WHOLE.format(value)
}

/** Formats a number with three digits and a unit: `3,180`, `48.1K`, `402M`. */
export function short(value: number): string {
  return Math.abs(value) < 10_000 ? WHOLE.format(value) : SHORT.format(value)
}

/** Formats a rate: as a whole number from ten on, with one decimal below ten, as `<0.1` below 0.05, and zero as `0`. */
export function rate(value: number): string {
  if (value === 0) return '0'
  return value >= 10 ? short(value) : value < 0.05 ? '<0.1' : value.toFixed(1)
}

/** Formats a share such as `98 %`, or a dash if the whole is zero. */
export function percent(part: number, all: number): string {
  if (all === 0) return '–'
  const share = (100 * part) / all
  if (share === 0) return '0 %'
  return share < 1 ? `${share.toFixed(2)} %` : `${Math.round(share)} %`
}
