// The thread on which large chats are rendered: receives a chat, returns the pieces of its prompt or the refusal.
import { workerData } from 'node:worker_threads'
import { ChatTemplateError, type Chat } from '#libs/chat-template/chat-renderer.ts'
import { serveTasks } from '#libs/threads/serve-tasks.ts'
import { openModelRenderer, type RenderedModel } from './threaded-chat-renderer.ts'

export type Rendered =
  | { readonly status: 'rendered'; readonly pieces: string[] }
  | { readonly status: 'refused'; readonly message: string }

const model: RenderedModel = workerData
const renderer = openModelRenderer(model)

serveTasks((chat: Chat): Rendered => {
  try {
    return { status: 'rendered', pieces: renderer.render(chat) }
  } catch (error) {
    if (!(error instanceof ChatTemplateError)) throw error
    return { status: 'refused', message: error.message }
  }
})
