import { z } from 'zod'
import { ApiError } from '#libs/contracts/api-error.ts'
import type { OutputFormat } from '#libs/contracts/generation-request.ts'
import type { ModelSpec } from '#libs/contracts/model-spec.ts'
import type { GrammarUse } from '#libs/json-schema/limits.ts'
import { optional } from '../../http/parse-body.ts'
import type { CheckSchema } from './check-schema.ts'
import { NAMED_EFFORT_NAMES } from './effort.ts'
import { BOOLEAN } from './field-texts.ts'
import { LEAST_OUTPUT_FIELDS } from './least-output.ts'
import { toMostListed } from './logprobs.ts'
import { ResponseFormat, toOutputFormat } from './output-format.ts'
import { OutputLimit } from './output-limit.ts'
import { EFFORT_FIELDS } from './reasoning-switches.ts'
import { SAMPLING_FIELDS } from './sampling.ts'
import { STRUCTURED_FIELDS, toStructuredFormats } from './structured-outputs.ts'

/**
 * The settings of a generation, by the names of all interfaces. Every operation that generates text reads all of them,
 * so a client may send the name of another interface.
 */
export const GENERATION_FIELDS = {
  max_tokens: optional(OutputLimit).meta({
    description:
      'The largest number of output tokens. Absent: as many as the model and the context window allow.',
  }),
  max_completion_tokens: optional(OutputLimit).meta({
    description: 'The same as max_tokens; the smallest of these fields applies.',
  }),
  max_output_tokens: optional(OutputLimit).meta({ description: 'The same as max_tokens; of Responses.' }),
  stream: optional(z.boolean(BOOLEAN)),
  response_format: optional(ResponseFormat),
  text: optional(z.object({ format: optional(ResponseFormat) }, 'expected an object')).meta({
    description: 'Its format is the same as response_format; of Responses.',
  }),
  output_config: optional(
    z.looseObject(
      {
        effort: optional(z.enum(NAMED_EFFORT_NAMES, `expected one of ${NAMED_EFFORT_NAMES.join(', ')}`)),
        format: optional(ResponseFormat),
      },
      'expected an object',
    ),
  ).meta({ description: 'How much a model reasons, and the format of the text; of Messages.' }),
  output_format: optional(ResponseFormat).meta({
    description: 'The earlier name of output_config.format; only one of them may be given.',
  }),
  ...STRUCTURED_FIELDS,
  ...EFFORT_FIELDS,
  ...LEAST_OUTPUT_FIELDS,
  ...SAMPLING_FIELDS,
}

const Fields = z.object(GENERATION_FIELDS)
type Fields = z.output<typeof Fields>
type FormatFields = Pick<
  Fields,
  'text' | 'response_format' | 'output_config' | 'output_format' | keyof typeof STRUCTURED_FIELDS
>

/** Returns the one format for which the fields ask. Throws the errors of `toOutputFormat`. */
export function toFormat(
  fields: FormatFields,
  checks: { checkSchema: CheckSchema; use: GrammarUse },
): OutputFormat {
  const { text, output_config: config, output_format: earlier } = fields
  if (earlier !== undefined && config?.format !== undefined) {
    throw new ApiError('invalid_request', "'output_format': expected none beside 'output_config.format'.", {
      param: 'output_format',
    })
  }
  const formats = {
    'text.format': text?.format,
    response_format: fields.response_format,
    'output_config.format': config?.format,
    output_format: earlier,
  }
  return toOutputFormat(formats, toStructuredFormats(fields), checks)
}

/**
 * Returns the smallest of the given limits, but at most the model's maximum, and at most as much output as may have log
 * probabilities (`toMostListed`, whose errors are thrown). Returns null if nothing limits the output.
 */
export function toOutputLimit(
  fields: Pick<Fields, 'max_tokens' | 'max_completion_tokens' | 'max_output_tokens'>,
  { model, ...listed }: Omit<Parameters<typeof toMostListed>[1], 'param'> & { readonly model: ModelSpec },
): number | null {
  const { max_output_tokens, max_completion_tokens, max_tokens } = fields
  const given = Object.entries({ max_output_tokens, max_completion_tokens, max_tokens }).flatMap(
    ([field, limit]) => (limit === undefined ? [] : [{ field, limit }]),
  )
  const limit = given.length === 0 ? null : Math.min(...given.map((one) => one.limit), model.maxOutputTokens)
  const most = toMostListed(limit, { ...listed, param: given[0]?.field ?? '' })
  return limit ?? (most < model.maxOutputTokens ? most : null)
}
