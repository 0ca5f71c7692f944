import { never, only, onlyEmpty, type Unserved } from '../fields/refuse-unserved.ts'

const stateless = { ...never, instead: 'this service keeps no state; send the earlier items in input' }

/**
 * Fields of the Responses interface that would change the answer and are not served, beside those that it
 * shares with chat. All others are in `ResponsesBody` or change nothing that the caller could see.
 */
export const RESPONSES_UNSERVED: Unserved = {
  previous_response_id: stateless,
  conversation: stateless,
  background: { ...only(false), instead: 'this service keeps no state' },
  prompt: { ...never, instead: 'send its text as instructions and input' },
  max_tool_calls: never,
  moderation: never,
  context_management: onlyEmpty,
  // What does not fit is refused in both, so that "auto" changes no answer.
  truncation: {
    isHarmless: (value) => value === 'disabled' || value === 'auto',
    allowed: '"disabled" or "auto"',
  },
  // The other things that can be included belong to tools that are never run here, or are not kept.
  include: {
    isHarmless: (value) => Array.isArray(value) && !value.includes('message.output_text.logprobs'),
    allowed: 'an array without "message.output_text.logprobs"',
  },
}
