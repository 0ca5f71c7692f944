import { z } from 'zod'
import { Sampling } from '#libs/contracts/generation-request.ts'

/** A format that is text with markers in it; `harmony` is more than that. */
export const TextFormatName = z.enum([
  'hermes',
  'qwen3-coder',
  'deepseek-v3',
  'deepseek-v3.1',
  'deepseek-v3.2',
  'minimax-m2',
  'kimi-k2',
  'glm-4.5',
  'mistral',
  'json',
  'functools',
  'granite3',
  'cohere',
  'pythonic',
])
export type TextFormatName = z.infer<typeof TextFormatName>

const Tag = z.string().min(2)
const Tags = z.strictObject({ open: Tag, close: Tag })

/** What a model is sampled with where nobody asks for something else; what is absent is neutral. */
export const SamplingDefaults = Sampling.pick({
  temperature: true,
  topP: true,
  topK: true,
  minP: true,
  repetitionPenalty: true,
})
export type SamplingDefaults = z.infer<typeof SamplingDefaults>

/** Variables of the chat template, by their names there. */
const TemplateVariables = z.record(z.string(), z.union([z.boolean(), z.string(), z.number()]))

/**
 * One file of `models/families/`: how a family of models speaks, whatever its size and its tokenizer. The worker
 * renders, constrains and parses with it, the simulator plays it.
 */
export const ModelFamily = z
  .strictObject({
    /** Which models it is for, and what is particular about them. */
    about: z.string().min(1),
    /**
     * How thinking is told from the answer: by tags around it, by harmony's channels, or there is none. `answer`: the
     * tags around an answer that follows thinking, where it has some.
     */
    reasoning: z.union([
      z.enum(['none', 'harmony']),
      z.strictObject({ ...Tags.shape, answer: Tags.optional() }),
    ]),
    /** How calls are written; `formats.ts` shows each. */
    toolCalls: z.enum(['none', 'harmony', ...TextFormatName.options]),
    /** What the ids of calls look like: some templates take back no other ones. */
    callIds: z.enum(['opaque', 'nine-characters', 'name-and-number']),
    /**
     * Tokens that end a turn, beside those that a model's own config.json and generation_config.json name. Families
     * span several tokenizers: what one of them does not have as a token of its own does not count for it.
     */
    stopTokens: z.array(z.string().min(1)).default([]),
    /** Its makers' recommendation, for models that have no generation_config.json. */
    defaults: SamplingDefaults.default({}),
    /** What the template is told for each effort; `{}`: it has no such switch. */
    effort: z.strictObject({
      off: TemplateVariables,
      low: TemplateVariables,
      high: TemplateVariables,
      max: TemplateVariables,
    }),
  })
  .refine((family) => (family.reasoning === 'harmony') === (family.toolCalls === 'harmony'), {
    path: ['toolCalls'],
    message: 'harmony has both its reasoning and its calls in channels',
  })
export type ModelFamily = z.infer<typeof ModelFamily>
