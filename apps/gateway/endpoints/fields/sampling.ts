import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { ApiError } from '#libs/contracts/api-error.ts'
import type { Sampling } from '#libs/contracts/generation-request.ts'
import { optional } from '../../http/parse-body.ts'
import { documentedAs } from '#libs/http-contract/documented-as.ts'
import { listOf } from '#libs/http-contract/list-of.ts'
import { DIFFER } from './field-texts.ts'
import { recordOf } from './record-of.ts'

const MAX_STOP_STRINGS = 16
const MAX_STOP_LENGTH = 1_024
const MAX_BIASES = 1_024
const INT64 = 2 ** 63

const STOP = `expected a string, or an array of at most ${MAX_STOP_STRINGS}`
const TOP_K = 'expected a whole number of at least 1, or 0 or -1 for no limit'
const BIASES = `expected an object of at most ${MAX_BIASES} token ids with numbers from -100 to 100`

const StopString = z
  .string(STOP)
  .min(1, 'expected a string that is not empty')
  .max(MAX_STOP_LENGTH, `expected at most ${MAX_STOP_LENGTH} characters`)

const StopStrings = listOf(StopString, {
  expected: STOP,
  most: [MAX_STOP_STRINGS, `expected at most ${MAX_STOP_STRINGS} strings`],
})

const Stop = z
  .union([z.string(), z.array(z.unknown())], STOP)
  .transform((stop) => (typeof stop === 'string' ? [stop] : stop))
  .pipe(StopStrings)
  .meta({
    ...documentedAs(z.union([StopString, StopStrings])),
    description: 'Strings that end the output; the match itself is not part of it.',
  })

const Seed = z
  .number('expected a whole number')
  .refine(
    (seed) => Number.isInteger(seed) && seed >= -INT64 && seed <= INT64,
    'expected a 64-bit whole number',
  )
  .meta({ type: 'integer', description: 'A 64-bit whole number.' })

/** The sampling and stop fields of every generation endpoint. */
export const SAMPLING_FIELDS = {
  temperature: optional(numberBetween(0, 2)),
  top_p: optional(aboveZeroUpTo(1)),
  top_k: optional(z.int(TOP_K).min(-1, TOP_K).max(1_000_000, 'expected at most 1000000')),
  min_p: optional(numberBetween(0, 1)),
  frequency_penalty: optional(numberBetween(-2, 2)),
  presence_penalty: optional(numberBetween(-2, 2)),
  repetition_penalty: optional(aboveZeroUpTo(10)),
  stop: optional(Stop),
  stop_sequences: optional(Stop).meta({ description: 'The same as stop; of Anthropic.' }),
  seed: optional(Seed),
  logit_bias: optional(
    recordOf(
      { name: z.string().regex(/^\d{1,9}$/), value: numberBetween(-100, 100) },
      { expected: BIASES, most: MAX_BIASES },
    ).meta({ description: 'Bias by token id, as text.' }),
  ),
}

const SamplingFields = z.object(SAMPLING_FIELDS)
type SamplingFields = z.output<typeof SamplingFields>

/** Returns the sampling of a request. Absent fields stay absent; the worker fills in the model's defaults. */
export function toSampling(fields: SamplingFields): Sampling {
  const { seed, top_k: topK } = fields
  return {
    temperature: fields.temperature,
    topP: fields.top_p,
    topK: topK === undefined ? undefined : Math.max(0, topK),
    minP: fields.min_p,
    frequencyPenalty: fields.frequency_penalty,
    presencePenalty: fields.presence_penalty,
    repetitionPenalty: fields.repetition_penalty,
    // Engines take 31-bit seeds. The mapping is deterministic and keeps small seeds. It never returns -1, which vLLM
    // reads as "no seed".
    seed: seed === undefined ? undefined : Number(BigInt.asUintN(31, BigInt(seed))),
    logitBias: fields.logit_bias,
  }
}

/** Returns the stop strings. Throws an `ApiError` `invalid_request` if both of their fields are given and differ. */
export function toStop({ stop, stop_sequences: sequences }: SamplingFields): string[] {
  if (stop !== undefined && sequences !== undefined && !isDeepStrictEqual(stop, sequences)) {
    throw new ApiError('invalid_request', `'stop' and 'stop_sequences' ${DIFFER}.`, { param: 'stop' })
  }
  return stop ?? sequences ?? []
}

function numberBetween(min: number, max: number) {
  const text = `expected a number from ${min} to ${max}`
  return z.number(text).min(min, text).max(max, text)
}

function aboveZeroUpTo(max: number) {
  const text = `expected a number above 0, up to ${max}`
  return z.number(text).gt(0, text).max(max, text)
}
