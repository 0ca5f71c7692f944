declare const nanoCredits: unique symbol

/** An amount of money: whole nano-credits (10⁻⁹ credit). Never a JavaScript number, which rounds above 2⁵³. */
export type NanoCredits = bigint & { readonly [nanoCredits]: true }

/** The largest int64, which is also the largest PostgreSQL bigint. */
const MAX_NANO = 2n ** 63n - 1n

const NANO_PER_CREDIT = 1_000_000_000n

/** Converts an amount. Throws a RangeError for negative amounts and for amounts above the largest int64. */
export function toNanoCredits(amount: bigint | string): NanoCredits {
  const value = BigInt(amount)
  assertNanoCredits(value)
  return value
}

/** Reads credits in decimal, such as `12` or `0.000000001`. Throws a RangeError for any other text; never rounds. */
export function parseCredits(text: string): NanoCredits {
  const [, whole, fraction = ''] = /^(\d{1,10})(?:\.(\d{1,9}))?$/.exec(text) ?? []
  if (whole === undefined) throw new RangeError(`${JSON.stringify(text)} is not an amount of credits`)
  return toNanoCredits(whole + fraction.padEnd(9, '0'))
}

/** Formats an amount of any size as decimal credits, such as `1.5`, `0.000000001` or `-2`. Never rounds. */
export function formatCredits(amount: bigint): string {
  if (amount < 0n) return `-${formatCredits(-amount)}`
  const fraction = (amount % NANO_PER_CREDIT).toString().padStart(9, '0').replace(/0+$/, '')
  const whole = (amount / NANO_PER_CREDIT).toString()
  return fraction === '' ? whole : `${whole}.${fraction}`
}

function assertNanoCredits(value: bigint): asserts value is NanoCredits {
  if (value < 0n || value > MAX_NANO) {
    throw new RangeError(`${value} is not an amount of nano-credits (0 to ${MAX_NANO})`)
  }
}
