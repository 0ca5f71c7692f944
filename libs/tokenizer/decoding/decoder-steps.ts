import { z } from 'zod'

/** The decoder steps of a tokenizer.json that text models use. */
export const DecoderStep = z.discriminatedUnion('type', [
  z.object({ type: z.literal('ByteLevel') }),
  z.object({ type: z.literal('ByteFallback') }),
  z.object({ type: z.literal('Fuse') }),
  z.object({
    type: z.literal('Replace'),
    /**
     * The text to replace. A regular expression in its place is not supported, because it would have Oniguruma's
     * syntax, which differs from JavaScript's.
     */
    pattern: z.strictObject({ String: z.string() }),
    content: z.string(),
  }),
  z.object({ type: z.literal('Strip'), content: z.string(), start: z.int().min(0), stop: z.int().min(0) }),
  z.object({
    type: z.literal('Metaspace'),
    replacement: z.string(),
    prepend_scheme: z.enum(['first', 'never', 'always']).optional(),
    /** The older name of the same option. */
    add_prefix_space: z.boolean().optional(),
  }),
  z.object({ type: z.literal('WordPiece'), prefix: z.string(), cleanup: z.boolean() }),
  z.object({ type: z.literal('BPEDecoder'), suffix: z.string() }),
])
export type DecoderStep = z.infer<typeof DecoderStep>

const AnyStep = z.looseObject({ type: z.string(), decoders: z.array(z.unknown()).optional() })

/** Returns the steps in order, with sequences unrolled. Throws for an unsupported kind. */
export function parseDecoderSteps(decoder: unknown): DecoderStep[] {
  if (decoder === null || decoder === undefined) return []
  const { type, decoders } = AnyStep.parse(decoder)
  if (type === 'Sequence') return (decoders ?? []).flatMap(parseDecoderSteps)
  const step = DecoderStep.safeParse(decoder)
  if (step.success) return [step.data]
  throw new Error(`its decoder has a step ${type} of a kind that is not supported`, { cause: step.error })
}

/**
 * Decodes as Hugging Face's library does. Each step turns the list of tokens into another list, and the texts of the
 * last list are joined. Without any steps the tokens are joined by blanks.
 */
export function runDecoderSteps(steps: readonly DecoderStep[], tokens: readonly string[]): string {
  if (steps.length === 0) return tokens.join(' ')
  let parts = tokens
  for (const step of steps) parts = runStep(step, parts)
  return parts.join('')
}

function runStep(step: DecoderStep, tokens: readonly string[]): readonly string[] {
  switch (step.type) {
    case 'ByteFallback':
      return fromBytes(tokens)
    case 'Fuse':
      return [tokens.join('')]
    case 'Replace':
      return tokens.map((token) => token.replaceAll(step.pattern.String, () => step.content))
    case 'Strip':
      return tokens.map((token) => strip(token, step))
    case 'Metaspace': {
      const keepsFirst = step.prepend_scheme === 'never' || step.add_prefix_space === false
      return tokens.map((token, i) => token.replaceAll(step.replacement, i > 0 || keepsFirst ? ' ' : ''))
    }
    case 'WordPiece':
      return tokens.map((token, i) => toWord(token, i, step))
    case 'BPEDecoder':
      return tokens.map((token, i) => token.replaceAll(step.suffix, i === tokens.length - 1 ? '' : ' '))
    case 'ByteLevel':
      throw new Error('a byte-level decoder has no steps')
  }
}

const BYTE_TOKEN = /^<0x([0-9A-Fa-f]{2})>$/
const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Returns the byte that a token stands for in a vocabulary with byte fallback (`<0x41>` is 65), or null. */
export function toByte(token: string): number | null {
  const digits = BYTE_TOKEN.exec(token)?.[1]
  return digits === undefined ? null : parseInt(digits, 16)
}

/** Decodes runs of byte tokens. If a run as a whole is not valid UTF-8, each of its bytes becomes U+FFFD. */
function fromBytes(tokens: readonly string[]): string[] {
  const parts: string[] = []
  let run: number[] = []
  const endRun = () => {
    if (run.length > 0) parts.push(...toText(run))
    run = []
  }
  for (const token of tokens) {
    const byte = toByte(token)
    if (byte === null) {
      endRun()
      parts.push(token)
    } else {
      run.push(byte)
    }
  }
  endRun()
  return parts
}

function toText(run: readonly number[]): string[] {
  try {
    return [strict.decode(Uint8Array.from(run))]
  } catch {
    return run.map(() => '\uFFFD')
  }
}

function strip(token: string, { content, start, stop }: Extract<DecoderStep, { type: 'Strip' }>): string {
  const characters = Array.from(token)
  let from = 0
  while (from < start && characters[from] === content) from += 1
  let to = characters.length
  while (characters.length - to < stop && to > from && characters[to - 1] === content) to -= 1
  return characters.slice(from, to).join('')
}

/** Removes the blanks that WordPiece puts inside English words and before punctuation. */
const CLEANUP = [
  [' .', '.'],
  [' ?', '?'],
  [' !', '!'],
  [' ,', ','],
  [" ' ", "'"],
  [" n't", "n't"],
  [" 'm", "'m"],
  [' do not', " don't"],
  [" 's", "'s"],
  [" 've", "'ve"],
  [" 're", "'re"],
] as const

function toWord(token: string, place: number, step: Extract<DecoderStep, { type: 'WordPiece' }>): string {
  const isRest = token.startsWith(step.prefix)
  const word = place === 0 ? token : isRest ? token.slice(step.prefix.length) : ` ${token}`
  return step.cleanup ? CLEANUP.reduce((text, [from, to]) => text.replaceAll(from, to), word) : word
}
