/**
 * How long a generation waited and ran, as far as the process that settles it knows. The values explain a charge and
 * decide nothing. A missing or unreadable value is null, and never a reason to refuse a settlement.
 */
export type SettlementTiming = {
  /** From enqueueing to the first claim, by the clock of the queue Redis. */
  readonly waitedMs: number | null
  /** How many generations were ahead of it in the queue when it was admitted. */
  readonly ahead: number | null
  /** From its first claim to its first output at the gateway. */
  readonly firstTokenMs: number | null
  /** From its first output to its end. */
  readonly ranMs: number | null
  /** The finish reason in the answer: `stop`, `length`, `tool_calls`. */
  readonly finishReason: string | null
  /** The error code in the answer; null if the generation did not fail. */
  readonly errorCode: string | null
  readonly reasoningTokens: number | null
  readonly streamed: boolean | null
}

/**
 * Encodes a timing as comma-separated values in the order of the type's fields, such as `14200,124,410,5900,stop,,0,1`.
 * The values have no names, to save memory: a settlement is kept in Redis for an hour. Later versions append values.
 */
export function encodeTiming(timing: SettlementTiming): string {
  const { waitedMs, ahead, firstTokenMs, ranMs, finishReason, errorCode, reasoningTokens, streamed } = timing
  const flag = streamed === null ? null : Number(streamed)
  const values = [waitedMs, ahead, firstTokenMs, ranMs, finishReason, errorCode, reasoningTokens, flag]
  return values.map((value) => (typeof value === 'number' ? Math.round(value) : (value ?? ''))).join(',')
}

/** Decodes the text of `encodeTiming`, of this version or another version. Never throws. */
export function decodeTiming(text: string): SettlementTiming {
  const [waitedMs, ahead, firstTokenMs, ranMs, finishReason, errorCode, reasoningTokens, streamed] =
    text.split(',')
  return {
    waitedMs: toCount(waitedMs),
    ahead: toCount(ahead),
    firstTokenMs: toCount(firstTokenMs),
    ranMs: toCount(ranMs),
    finishReason: toWord(finishReason),
    errorCode: toWord(errorCode),
    reasoningTokens: toCount(reasoningTokens),
    streamed: streamed === '1' ? true : streamed === '0' ? false : null,
  }
}

/**
 * Returns null for a text that is not a number of at most ten digits. A number above 2^31 - 1, PostgreSQL's largest
 * integer (24 days in milliseconds), becomes 2^31 - 1.
 */
function toCount(text: string | undefined): number | null {
  if (text === undefined || !/^\d{1,10}$/.test(text)) return null
  return Math.min(Number(text), 2_147_483_647)
}

const toWord = (text: string | undefined) => (text !== undefined && /^[a-z_]{1,40}$/.test(text) ? text : null)
