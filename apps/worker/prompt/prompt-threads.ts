import type { Logger } from '#libs/telemetry/logger.ts'
import { createLongTextThreads, type LongTextThreads } from './long-text-threads.ts'
import {
  createThreadedChatRenderer,
  type RenderedModel,
  type ThreadedChatRenderer,
} from './threaded-chat-renderer.ts'

/** The threads of a process for rendering and encoding that would block its event loop. */
export type PromptThreads = LongTextThreads & { openRenderer(model: RenderedModel): ThreadedChatRenderer }

export function createPromptThreads(log: Logger): PromptThreads {
  const longTexts = createLongTextThreads(log)
  const renderers: ThreadedChatRenderer[] = []
  return {
    wrapEncoder: longTexts.wrapEncoder,
    openRenderer(model) {
      const renderer = createThreadedChatRenderer(model, log)
      renderers.push(renderer)
      return renderer
    },
    async close() {
      await Promise.all([...renderers, longTexts].map(async (threads) => await threads.close()))
    },
  }
}
