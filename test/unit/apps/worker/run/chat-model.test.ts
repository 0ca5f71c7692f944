import { expect, it } from 'vitest'
import { createChatModel } from '#apps/worker/run/chat-model.ts'
import type { ChatRequest } from '#libs/contracts/generation-request.ts'
import { loadModel } from '#libs/model-files/load-model.ts'
import { generationJob } from '../../../../support/generation-job.ts'

const { request } = generationJob()
if (request.kind !== 'chat') throw new Error('a chat is run')
const tool = { name: 'f', description: null, parameters: null }
const asked = (more: Partial<ChatRequest> = {}): ChatRequest => ({ ...request, stop: ['\n'], ...more })

const model = async (name: string) =>
  createChatModel({
    model: await loadModel('models', name),
    renderPrompt: async () => await Promise.reject(new Error('no prompt is rendered')),
  })

it('an engine stops at stop strings only where it writes nothing but the answer', async () => {
  const { engineStops } = await model('demo')
  expect(engineStops(asked())).toEqual(['\n'])
  expect(engineStops(asked({ tools: [tool] }))).toEqual([])
  expect(engineStops(asked({ tools: [tool], toolChoice: 'none' }))).toEqual(['\n'])
  expect((await model('demo-reasoning')).engineStops(asked())).toEqual([])
})

it('the output after a raw prompt is text alone, also of a model that reasons', async () => {
  const { engineStops, createParser } = await model('demo-reasoning')
  const raw = asked({ rawPrompt: { addsSpecialTokens: true } })
  expect(engineStops(raw)).toEqual(['\n'])
  const { tokenizer } = await loadModel('models', 'demo-reasoning')
  const prompt = { tail: '<think>', ids: new Uint32Array(1) }
  const parser = createParser({ ...generationJob(), request: raw }, prompt, 0)
  const { events } = parser.push(await tokenizer.encode('hm</think> yes'))
  expect([...events, ...parser.finish()]).toEqual([{ type: 'text-delta', text: 'hm</think> yes' }])
})
