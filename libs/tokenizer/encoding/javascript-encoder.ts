import type { Logger } from '#libs/telemetry/logger.ts'
import { createTaskThread } from '#libs/threads/task-thread.ts'
import type { TokenizerFile } from '../tokenizer-file.ts'
import type { Encoder } from './encoder.ts'
import type { EncodeTask, ThreadSettings } from './thread.ts'

/** Texts wait for one another. The hardest of a megabyte takes half a minute. */
const LIMITS = { waiting: 4_096, taskMs: 60_000, heapMib: 2_048 }

/**
 * Hugging Face's tokenizers in JavaScript, on a thread: it is slower and would stop an event loop for a tenth of a
 * second per 100,000 characters. Equal to the native encoder but for characters that are newer to Unicode than that
 * library's tables, where a tokenizer normalizes by them. Fails at the first text where it cannot use the tokenizer.json.
 */
export function openJavascriptEncoder(file: TokenizerFile, log: Logger): Encoder {
  const settings: ThreadSettings = { json: file.json }
  const module = new URL('thread.ts', import.meta.url)
  const thread = createTaskThread<EncodeTask>({ name: 'tokenizer', module, settings, limits: LIMITS, log })
  return {
    name: 'javascript',
    async encode(texts, { whole }) {
      if (texts.length === 0) return []
      return await thread.run<Uint32Array[]>({ texts: texts.map((text) => text.toWellFormed()), whole })
    },
    close: thread.close,
  }
}
