import { z } from 'zod'
import { ErrorBody } from '../../http/handle-error.ts'
import { OutputItem, OutputText, ResponseObject, SummaryText } from './response-object.ts'

const OF_RESPONSE = { sequence_number: z.int().min(0), response: ResponseObject }
const OF_ITEM = { sequence_number: z.int().min(0), output_index: z.int().min(0) }
const OF_PART = { ...OF_ITEM, item_id: z.string() }
const OF_TEXT = { ...OF_PART, content_index: z.literal(0), logprobs: OutputText.shape.logprobs }
const OF_SUMMARY = { ...OF_PART, summary_index: z.literal(0) }

/**
 * An event of a streamed response. The union has the events of both event sets, `spec` and `full` (`EventSet`).
 * `to-events.ts` and the files that it uses render the events as text.
 */
export const ResponseEvent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('response.created'), ...OF_RESPONSE }),
  z.object({ type: z.literal('response.in_progress'), ...OF_RESPONSE }),
  z.object({ type: z.literal('response.output_item.added'), ...OF_ITEM, item: OutputItem }),
  z.object({
    type: z.literal('response.content_part.added'),
    ...OF_PART,
    content_index: z.literal(0),
    part: OutputText,
  }),
  z.object({ type: z.literal('response.output_text.delta'), ...OF_TEXT, delta: z.string() }),
  z.object({ type: z.literal('response.output_text.done'), ...OF_TEXT, text: z.string() }),
  z.object({
    type: z.literal('response.content_part.done'),
    ...OF_PART,
    content_index: z.literal(0),
    part: OutputText,
  }),
  z.object({ type: z.literal('response.reasoning_summary_part.added'), ...OF_SUMMARY, part: SummaryText }),
  z.object({ type: z.literal('response.reasoning_summary_text.delta'), ...OF_SUMMARY, delta: z.string() }),
  z.object({ type: z.literal('response.reasoning_summary_text.done'), ...OF_SUMMARY, text: z.string() }),
  z.object({ type: z.literal('response.reasoning_summary_part.done'), ...OF_SUMMARY, part: SummaryText }),
  z.object({ type: z.literal('response.function_call_arguments.delta'), ...OF_PART, delta: z.string() }),
  z.object({
    type: z.literal('response.function_call_arguments.done'),
    ...OF_PART,
    name: z.string(),
    arguments: z.string(),
  }),
  z.object({ type: z.literal('response.output_item.done'), ...OF_ITEM, item: OutputItem }),
  z.object({ type: z.literal('response.completed'), ...OF_RESPONSE }),
  z.object({ type: z.literal('response.failed'), ...OF_RESPONSE, error: ErrorBody.shape.error }),
])
