import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { chatOk } from '../support/chat.ts'
import type { TestAccount } from '../support/cluster.ts'
import { startOwnWorkers, type OwnWorkers } from '../support/own-parts.ts'
import { scratchFolder } from '../support/run-folder.ts'
import { sharedCluster, type SharedCluster } from '../support/shared-cluster.ts'
import { UNSERVED_MODELS } from '../support/shared-models.ts'

const START = 2001
const ALOUD = `{% for message in messages %}<|im_start|>{{ message.role }}
Aloud: {{ message.content }}<|im_end|>
{% endfor %}<|im_start|>assistant{{ '\\n' }}`

const CHAT = UNSERVED_MODELS['model-files'].model
const THINKING = UNSERVED_MODELS['model-files-thinking'].model

let cluster: SharedCluster
let own: OwnWorkers
let account: TestAccount

/**
 * The worker has other files than its engines, under the same names. Its configuration names no folder for any model.
 */
beforeAll(async () => {
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
  cluster = await sharedCluster()
  own = await startOwnWorkers(cluster, [engines], { MODELS_DIR: models })
  account = await cluster.createAccount('10')
})

afterAll(async () => await own.stop())

const ask = async (model: string, content: string, fields = {}) =>
  await chatOk({ baseUrl: cluster.baseUrl, apiKey: account.apiKey, model, content, fields })

test('a worker without the files of its model serves it with those of its engine', async () => {
  const content = 'é 東京 😀 <|im_end|>'
  expect((await ask(CHAT, content)).text).toBe(`You said: ${content}`)
})

test('the template that a model’s file names is used instead of the engine’s', async () => {
  expect((await ask(THINKING, 'Hello')).text).toBe('You said: Aloud: Hello')
})

test('a stop token of the family ends the turn, is charged and is no part of the answer', async () => {
  const fields = { temperature: 0, logit_bias: { [START]: 100 }, max_tokens: 5 }
  const ended = { text: '', finishReason: 'stop', completionTokens: 1 }
  expect(await ask(THINKING, 'Hello', fields)).toMatchObject(ended)
  const other = { text: '', finishReason: 'length', completionTokens: 5 }
  expect(await ask(CHAT, 'Hello', fields)).toMatchObject(other)
})
