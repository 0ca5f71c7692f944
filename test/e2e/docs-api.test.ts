import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { matchesOutput, readExamples, type DocExample } from '#test/support/doc-examples.ts'
import { chat } from '#test/support/chat.ts'
import type { TestAccount } from '#test/support/cluster.ts'
import { startOwnWorkers } from '#test/support/own-parts.ts'
import { connectScaler } from '#test/support/scaler-signals.ts'
import { sharedCluster, type SharedCluster } from '#test/support/shared-cluster.ts'
import { UNSERVED_MODELS } from '#test/support/shared-models.ts'

const DOCUMENT = 'docs/api.md'
const examples = readExamples(readFileSync(DOCUMENT, 'utf8'), ['sh', 'js', 'python'])
const python = process.env['MILLRACE_PYTHON'] ?? 'python3'

let cluster: SharedCluster
let account: TestAccount
let environment: Record<string, string>
/** The folder is inside the repository, so that the examples' imports find the installed clients. */
let folder: string

beforeAll(async () => {
  mkdirSync('.millrace', { recursive: true })
  folder = mkdtempSync(join('.millrace', 'doc-examples-'))
  cluster = await sharedCluster()
  account = await cluster.createAccount('10')
  environment = { OPENAI_BASE_URL: cluster.baseUrl, OPENAI_API_KEY: account.apiKey }
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('docs/api.md', () => {
  it('has examples in every language', () => {
    expect(new Set(examples.map(({ language }) => language))).toEqual(new Set(['sh', 'js', 'python']))
  })

  it('notices an output that differs', () => {
    expect(matchesOutput('{"id":"a-1","ok":true}\nend', '{"id":"a-…","ok":true}\n…')).toBe(true)
    expect(matchesOutput('{"id":"a-1","ok":true}\nend', '{"id":"a-…","ok":true}')).toBe(false)
    expect(matchesOutput('{"id":"a-1","ok":false}', '{"id":"a-…","ok":true}')).toBe(false)
  })

  it.for(examples)('the $language of line $line prints the output shown', async (example, { skip }) => {
    skip(example.language === 'python' && !hasPythonClient(), 'the openai package of Python is not installed')
    const isCold = example.code.includes(UNSERVED_MODELS['docs-api'].model)
    const printed = isCold ? await whileColdStarts(async () => await run(example)) : await run(example)
    const shown = example.expected
    expect(shown === null || matchesOutput(printed, shown), `${printed}\nis not\n\n${shown}`).toBe(true)
  })
})

function hasPythonClient(): boolean {
  try {
    execFileSync(python, ['-c', 'import openai'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

/**
 * Runs an example with a model at zero: a scaler publishes that the model starts, and the worker starts once the
 * example's request waits.
 */
async function whileColdStarts(runExample: () => Promise<string>): Promise<string> {
  const { model } = UNSERVED_MODELS['docs-api']
  const scaler = await connectScaler(cluster.redisUrl)
  const publishing = setInterval(() => void scaler.publishState(model, { etaMs: 20_000 }), 500)
  try {
    const call = { baseUrl: cluster.baseUrl, apiKey: account.apiKey, content: 'Hi', model }
    await expect.poll(async () => (await chat(call)).status, { interval: 50 }).toBe(429)
    const printed = runExample()
    const awaited = () => {
      const { unserved = 0, refused = 0 } = scaler.demands.at(-1)?.models[model] ?? {}
      return unserved - refused
    }
    await expect.poll(awaited).toBe(1)
    const workers = await startOwnWorkers(cluster, [[{ model, files: 'demo', stepMs: 1 }]])
    try {
      return await printed
    } finally {
      await workers.stop()
    }
  } finally {
    clearInterval(publishing)
    scaler.stop()
  }
}

/** Runs an example and returns its output. Rejects with its error output if it fails. */
async function run({ language, code, line }: DocExample): Promise<string> {
  const [command, args] = toCommand(language, code, line)
  const { stdout } = await promisify(execFile)(command, args, {
    env: { ...process.env, ...environment },
    timeout: 60_000,
  })
  return stdout
}

function toCommand(language: string, code: string, line: number): [string, string[]] {
  if (language === 'sh') return ['bash', ['-euo', 'pipefail', '-c', code]]
  if (language === 'python') return [python, ['-c', code]]
  const file = join(folder, `line-${line}.mjs`)
  writeFileSync(file, code)
  return [process.execPath, [file]]
}
