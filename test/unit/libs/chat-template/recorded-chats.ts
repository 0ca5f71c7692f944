import { readFileSync } from 'node:fs'
import { z } from 'zod'

const TokenIds = z.array(z.int()).transform((ids) => Uint32Array.from(ids))

const RecordedChats = z.object({
  conversations: z
    .array(
      z.object({
        name: z.string(),
        messages: z.array(z.unknown()),
        tools: z.array(z.unknown()).default([]),
        chat_template_kwargs: z.object({ enable_thinking: z.boolean() }).optional(),
        prompt: z.string(),
        token_ids: TokenIds,
      }),
    )
    .min(1),
  texts: z.array(z.object({ text: z.string(), token_ids: TokenIds })).min(1),
})

/** Prompts and ids as vLLM 0.32's HTTP server rendered them for the model in `models/tiny`. */
export const recordedChats = RecordedChats.parse(
  JSON.parse(readFileSync(new URL('../../../fixtures/http/chat-template-ids.json', import.meta.url), 'utf8')),
)
