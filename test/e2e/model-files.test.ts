import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { chatOk } from '../support/chat.ts'
import { test as clusterTest } from '../support/cluster-test.ts'
import { startOwnWorkers } from '../support/own-parts.ts'
import { scratchFolder } from '../support/run-folder.ts'
import { UNSERVED_MODELS } from '../support/shared-models.ts'

const START = 2001
const ALOUD = `{% for message in messages %}<|im_start|>{{ message.role }}
Aloud: {{ message.content }}<|im_end|>
{% endfor %}<|im_start|>assistant{{ '\\n' }}`

const CHAT = UNSERVED_MODELS['model-files'].model
const THINKING = UNSERVED_MODELS['model-files-thinking'].model

/**
 * The worker has other files than its engines, under the same names. Its configuration names no folder for any model.
 */
const test = clusterTest.extend(
  'worker',
  { scope: 'file', auto: true },
  async ({ cluster }, { onCleanup }) => {
    const models = scratchFolder('models')
    const write = (name: string, value: object) => writeFileSync(join(models, name), JSON.stringify(value))
    cpSync('models/families', join(models, 'families'), { recursive: true })
    const thinking = JSON.parse(readFileSync('models/families/qwen3.json', 'utf8'))
    write('families/own.json', { ...thinking, stopTokens: ['<|eot_id|>', '<|im_start|>'] })
    mkdirSync(join(models, 'templates'))
    writeFileSync(join(models, 'templates', 'aloud.jinja'), ALOUD)
    write('demo.json', { family: 'hermes' })
    write('demo-reasoning.json', { family: 'own', chatTemplate: 'templates/aloud.jinja' })
    const engines = [
      { model: CHAT, files: 'demo' },
      { model: THINKING, files: 'demo-reasoning' },
    ]
    const own = await startOwnWorkers(cluster, [engines], { MODELS_DIR: models })
    onCleanup(own.stop)
  },
)

test('a worker without the files of its model serves it with those of its engine', async ({ endpoint }) => {
  const content = 'é 東京 😀 <|im_end|>'
  expect((await chatOk({ ...endpoint, model: CHAT, content })).text).toBe(`You said: ${content}`)
})

test('the template that a model’s file names is used instead of the engine’s', async ({ endpoint }) => {
  expect((await chatOk({ ...endpoint, model: THINKING, content: 'Hello' })).text).toBe(
    'You said: Aloud: Hello',
  )
})

test('a stop token of the family ends the turn, is charged and is no part of the answer', async ({
  endpoint,
}) => {
  const call = {
    ...endpoint,
    content: 'Hello',
    fields: { temperature: 0, logit_bias: { [START]: 100 }, max_tokens: 5 },
  }
  const ended = { text: '', finishReason: 'stop', completionTokens: 1 }
  expect(await chatOk({ ...call, model: THINKING })).toMatchObject(ended)
  const other = { text: '', finishReason: 'length', completionTokens: 5 }
  expect(await chatOk({ ...call, model: CHAT })).toMatchObject(other)
})
