import { z } from 'zod'
import {
  MessageObject,
  MessageUsage,
  StopReason,
  TextBlock,
  ThinkingBlock,
  ToolUseBlock,
} from './message-object.ts'

const Index = z.int().min(0)

const Delta = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text_delta'), text: z.string() }),
  z.object({ type: z.literal('thinking_delta'), thinking: z.string() }),
  z.object({ type: z.literal('signature_delta'), signature: z.string() }),
  z.object({ type: z.literal('input_json_delta'), partial_json: z.string() }),
])

/** An event of a streamed message. `to-events.ts` renders it as text. */
export const MessageEvent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('message_start'), message: MessageObject }),
  z.object({
    type: z.literal('content_block_start'),
    index: Index,
    content_block: z.discriminatedUnion('type', [TextBlock, ThinkingBlock, ToolUseBlock]),
  }),
  z.object({ type: z.literal('content_block_delta'), index: Index, delta: Delta }),
  z.object({ type: z.literal('content_block_stop'), index: Index }),
  z.object({
    type: z.literal('message_delta'),
    delta: z.object({ stop_reason: StopReason, stop_sequence: z.string().nullable() }),
    usage: MessageUsage,
  }),
  z.object({ type: z.literal('message_stop') }),
  z.object({ type: z.literal('ping') }),
])
