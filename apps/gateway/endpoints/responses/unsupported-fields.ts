import { never, only, onlyEmpty, supported, type UnsupportedFields } from '../fields/refuse-unsupported.ts'

const stateless = { ...never, instead: 'this service keeps no state; send the earlier items in input' }

/**
 * Fields of the Responses interface that would change the output and are not supported, in addition to the fields of
 * `refuse-unsupported.ts`; `top_logprobs` alone is supported here. Every other field is in `ResponsesBody` or has no visible effect on the answer.
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
  top_logprobs: supported,
}
