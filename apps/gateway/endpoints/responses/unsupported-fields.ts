import { never, only, onlyEmpty, type UnsupportedFields } from '../fields/refuse-unsupported.ts'

const stateless = { ...never, instead: 'this service keeps no state; send the earlier items in input' }

/**
 * Fields of the Responses interface that would change the output and are not supported, in addition to the fields of
 * `refuse-unsupported.ts`. Every other field is in `ResponsesBody` or has no visible effect on the answer.
 */
export const UNSUPPORTED_FIELDS: UnsupportedFields = {
  previous_response_id: stateless,
  conversation: stateless,
  background: { ...only(false), instead: 'this service keeps no state' },
  prompt: { ...never, instead: 'send its text as instructions and input' },
  max_tool_calls: never,
  moderation: never,
  context_management: onlyEmpty,
  // A prompt that exceeds the context window is rejected with "auto" as well, so "auto" changes no answer.
  truncation: {
    isHarmless: (value) => value === 'disabled' || value === 'auto',
    allowed: '"disabled" or "auto"',
  },
  // The other values concern tools that the service does not run, or data that the service does not store.
  include: {
    isHarmless: (value) => Array.isArray(value) && !value.includes('message.output_text.logprobs'),
    allowed: 'an array without "message.output_text.logprobs"',
  },
}
