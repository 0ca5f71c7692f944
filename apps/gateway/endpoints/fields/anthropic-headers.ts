import { z } from 'zod'
import { describeParameters } from '#libs/http-contract/describe-parameters.ts'

/** The request headers of Anthropic's interface. */
export const ANTHROPIC_HEADERS = describeParameters(
  'header',
  z.object({
    'x-api-key': z
      .string()
      .optional()
      .meta({ description: 'The API key, if there is no authorization header.', example: 'mr_live_key' }),
    'anthropic-version': z.string().optional().meta({
      description: 'Accepted, as anthropic-beta is; neither changes the answer.',
      example: '2023-06-01',
    }),
  }),
)
