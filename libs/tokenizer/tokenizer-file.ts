import { z } from 'zod'

const PreTokenizerStep = z.looseObject({ type: z.string(), prepend_scheme: z.string().nullish() })

/** The fields of tokenizer.json that are read here; the native library reads the whole file. */
const TokenizerJson = z.object({
  model: z.looseObject({
    vocab: z.union([z.record(z.string(), z.int()), z.array(z.tuple([z.string(), z.number()]))]),
    unk_token: z.string().nullish(),
    unk_id: z.int().nullish(),
  }),
  normalizer: z.unknown().optional(),
  /** Parsed by `parseDecoderSteps`. */
  decoder: z.unknown(),
  pre_tokenizer: z
    .union([
      z.object({ pretokenizers: z.array(PreTokenizerStep) }).transform(({ pretokenizers }) => pretokenizers),
      PreTokenizerStep.transform((step) => [step]),
    ])
    .nullish()
    .transform((steps) => steps ?? []),
  added_tokens: z
    .array(
      z.object({
        id: z.int().min(0),
        content: z.string(),
        special: z.boolean(),
        lstrip: z.boolean().default(false),
        rstrip: z.boolean().default(false),
        single_word: z.boolean().default(false),
        normalized: z.boolean().default(false),
      }),
    )
    .default([]),
})

export type TokenizerFile = {
  readonly json: string
  /** The texts of all tokens by id, added tokens included. */
  readonly tokens: readonly (string | undefined)[]
  /** The token that replaces characters which the vocabulary lacks; null without one. */
  readonly unknownId: number | null
  readonly addedTokens: z.infer<typeof TokenizerJson>['added_tokens']
  /** Not validated yet: see `openPlainEncoder`. */
  readonly steps: { readonly model: unknown; readonly normalizer: unknown; readonly preTokenizer: unknown }
  /** Not validated yet: see `parseDecoderSteps`. */
  readonly decoder: unknown
  /** True if the pre-tokenizer puts a blank before the beginning of a text, but not after a special token. */
  readonly prependsFirst: boolean
}

/** Throws a ZodError or a SyntaxError for text that is no tokenizer.json. */
export function parseTokenizerFile(json: string): TokenizerFile {
  const file = TokenizerJson.parse(JSON.parse(json))
  const { vocab, unk_token: unknown, unk_id: unknownId } = file.model
  const tokens: (string | undefined)[] = []
  if (Array.isArray(vocab)) for (const [token] of vocab) tokens.push(token)
  else for (const [token, id] of Object.entries(vocab)) tokens[id] = token
  for (const { id, content } of file.added_tokens) tokens[id] = content
  const named = typeof unknown === 'string' ? tokens.indexOf(unknown) : -1
  return {
    json,
    tokens,
    unknownId: unknownId ?? (named === -1 ? null : named),
    addedTokens: file.added_tokens,
    steps: { model: file.model, normalizer: file.normalizer, preTokenizer: file.pre_tokenizer },
    decoder: file.decoder,
    prependsFirst: file.pre_tokenizer.some((step) => step.prepend_scheme === 'first'),
  }
}
