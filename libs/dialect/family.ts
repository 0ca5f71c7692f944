import { z } from 'zod'
import { Sampling } from '#libs/contracts/generation-request.ts'
import { TOOL_CALL_FORMAT_NAMES } from './formats.ts'

const Tag = z.string().min(2)
const Tags = z.strictObject({ open: Tag, close: Tag })

/** Sampling parameters for requests that set none; an absent one is neutral. */
export const SamplingDefaults = Sampling.pick({
  temperature: true,
  topP: true,
  topK: true,
  minP: true,
  repetitionPenalty: true,
}).strict()
export type SamplingDefaults = z.infer<typeof SamplingDefaults>

/** Variables of the chat template, by their names there. */
const TemplateVariables = z.record(z.string(), z.union([z.boolean(), z.string(), z.number()]))

/**
 * One file of `models/families/`: how a family of models writes, whatever the model's size and tokenizer. The worker
 * uses it to render prompts and to constrain and parse output; the simulator uses it to write.
 */
export const ModelFamily = z
  .strictObject({
    /** The models that belong to the family, and their peculiarities. */
    about: z.string().min(1),
    /**
     * The markup that separates the reasoning from the answer: tags around the reasoning, or harmony's channels; `none`
     * if there is no reasoning. `answer`: the tags around an answer that follows reasoning.
     */
    reasoning: z.union([
      z.enum(['none', 'harmony']),
      z.strictObject({ ...Tags.shape, answer: Tags.optional() }),
    ]),
    /** The format of tool calls: a file of `formats/`. */
    toolCalls: z.enum(['none', ...TOOL_CALL_FORMAT_NAMES]),
    /** The form of call ids: some templates reject other ids. */
    callIds: z.enum(['opaque', 'nine-characters', 'name-and-number']),
    /**
     * Tokens that end a turn of the conversation, in addition to the end tokens of the model's config.json and
     * generation_config.json. A token that a model's tokenizer lacks is ignored.
     */
    stopTokens: z.array(z.string().min(1)).default([]),
    /** The publisher's recommendation, for models without generation_config.json. */
    defaults: SamplingDefaults.default({}),
    /** Variables that the chat template gets for each effort; `{}`: the template has no such switch. */
    effort: z.strictObject({
      off: TemplateVariables,
      low: TemplateVariables,
      high: TemplateVariables,
      max: TemplateVariables,
    }),
  })
  .refine((family) => (family.reasoning === 'harmony') === (family.toolCalls === 'harmony'), {
    path: ['toolCalls'],
    message: 'harmony writes both reasoning and calls in channels: set both or neither',
  })
export type ModelFamily = z.infer<typeof ModelFamily>
