import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { chatOk } from '../support/chat.ts'
import { startCluster, type TestAccount, type TestCluster } from '../support/cluster.ts'
import { scratchFolder } from '../support/run-folder.ts'

let cluster: TestCluster
let account: TestAccount

beforeAll(async () => {
  const models = scratchFolder('models')
  cpSync('models/families', join(models, 'families'), { recursive: true })
  const { family } = JSON.parse(readFileSync('models/demo.json', 'utf8'))
  writeFileSync(join(models, 'demo.json'), JSON.stringify({ family }))
  cluster = await startCluster({ workerEnv: { MODELS_DIR: models } })
  account = await cluster.createAccount('10')
})

afterAll(async () => await cluster.stop())

test('a worker without the files of its model serves it with those of its engine', async () => {
  const content = 'é 東京 😀 <|im_end|>'
  const { text } = await chatOk({ baseUrl: cluster.baseUrl, apiKey: account.apiKey, content })
  expect(text).toBe(`You said: ${content}`)
})
