import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { toSnippets } from '#apps/gateway/page/snippets.ts'

const BASE = "https://gateway.example/it's/v1"
const MODEL = `it's "$(id)" \\ x`

function snippet(name: string): string {
  const found = toSnippets(BASE, MODEL).find((one) => one.name === name)
  if (found === undefined) throw new Error(`there is no snippet ${name}`)
  return found.text
}

test('a shell reads the address and the body as they are, whatever is in a path or the id of a model', () => {
  // A shell function replaces `curl`. It prints its arguments, one a line.
  const script = `curl() { printf '%s\\n' "$@"; }\n${snippet('curl')}\n${snippet('Environment')}\necho "$OPENAI_BASE_URL"`
  const words = execFileSync('sh', ['-c', script], { encoding: 'utf8', env: { OPENAI_API_KEY: 'k' } }).split(
    '\n',
  )
  expect(words[0]).toBe(`${BASE}/chat/completions`)
  expect(words[2]).toBe('authorization: Bearer k')
  expect(JSON.parse(words[6] ?? '')).toEqual({
    model: MODEL,
    messages: [{ role: 'user', content: 'Hello!' }],
  })
  expect(words[7]).toBe(BASE)
})

test('Claude Code reads both as they are, and the address without its version', () => {
  const script = `${snippet('Claude Code')}\nenv`
  const words = execFileSync('sh', ['-c', script], { encoding: 'utf8', env: {} }).split('\n')
  expect(words).toContain(`ANTHROPIC_BASE_URL=${BASE.slice(0, -'/v1'.length)}`)
  expect(words).toContain(`ANTHROPIC_MODEL=${MODEL}`)
  expect(words).toContain(`ANTHROPIC_DEFAULT_HAIKU_MODEL=${MODEL}`)
})

test.each(['Python', 'JavaScript', 'Codex'])('%s reads both as they are', (name) => {
  expect(snippet(name)).toContain(JSON.stringify(MODEL))
  expect(snippet(name)).toContain(JSON.stringify(BASE))
})
