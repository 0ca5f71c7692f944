import { describe, expect, it } from 'vitest'
import { chooseEvents } from '#apps/gateway/endpoints/responses/choose-events.ts'

describe('the set of events', () => {
  it.each([
    ['the openai library for JavaScript', { 'user-agent': 'OpenAI/JS 7.55.0', 'x-stainless-lang': 'js' }],
    ['the openai library for Python', { 'user-agent': 'OpenAI/Python 3.22.1', 'x-stainless-lang': 'python' }],
    ['any library made by the same generator', { 'x-stainless-lang': 'go' }],
    ['openai without its marker', { 'user-agent': 'OpenAI/Java 1.0' }],
    ['LangChain', { 'user-agent': 'langchainjs-openai/1.0.0 ((node/v24.0.0; linux; x64))' }],
    ['OpenAI Agents', { 'user-agent': 'Agents/JavaScript 0.20.0' }],
    ['the AI SDK', { 'user-agent': 'ai-sdk-openai/4.0.118 ai-sdk-provider-utils/5.0.0' }],
    [
      'the AI SDK behind its core',
      { 'user-agent': 'ai/7.0.173 ai-sdk-provider-utils/5.0.0 runtime/node.js/24' },
    ],
    ['an older AI SDK', { 'user-agent': 'ai-sdk/openai/2.0.131' }],
    ['Codex by its origin', { originator: 'codex_exec', 'user-agent': 'x' }],
    ['Codex by its user agent', { 'user-agent': 'codex_cli_rs/0.169.0 (Linux)' }],
    ['LiteLLM', { 'user-agent': 'litellm/1.80.0' }],
  ])('is the full one for %s', (_name, headers) => {
    expect(chooseEvents(headers)).toBe('full')
  })

  it.each([
    ['no headers', {}],
    ['curl', { 'user-agent': 'curl/8.5.0' }],
    ['a plain fetch', { 'user-agent': 'node' }],
    ['a client that accepts events', { accept: 'text/event-stream' }],
    ['another origin', { originator: 'somebody' }],
  ])('is the spec one for %s', (_name, headers) => {
    expect(chooseEvents(headers)).toBe('spec')
  })

  it('is the one in the header, for any client', () => {
    const openai = { 'user-agent': 'OpenAI/JS 7.55.0', 'x-stainless-lang': 'js' }
    expect(chooseEvents({ ...openai, 'x-responses-events': 'spec' })).toBe('spec')
    expect(chooseEvents({ 'x-responses-events': 'full' })).toBe('full')
  })

  it.each(['', 'all', 'FULL', 'spec, full'])('is not guessed when the header is %j', (selected) => {
    expect(() => chooseEvents({ 'x-responses-events': selected })).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        param: 'x-responses-events',
        message: expect.stringContaining('expected spec or full'),
      }),
    )
  })
})
