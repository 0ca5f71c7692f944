import { describe, expect, it } from 'vitest'
import { always, CHAT, END, serveApp } from './gateway-app.ts'

const core = always([END])

describe('a tool that the model cannot name', () => {
  const nested = { type: 'function', function: { name: 'my tool' } }
  const flat = { type: 'function', name: 'my tool' }
  const fine = { type: 'function', name: 'f' }

  it.each([
    ['nested', { tools: [{ type: 'mcp' }, fine, nested] }, 'tools[2].function.name'],
    ['flat', { tools: [flat] }, 'tools[0].name'],
    ['in a large body', { tools: [{ ...flat, description: 'x'.repeat(200_000) }] }, 'tools[0].name'],
  ])('is refused by its name and place: %s', async (_name, fields, param) => {
    const { chat } = await serveApp(core)
    const response = await chat({ ...CHAT, ...fields })
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({
      error: {
        message:
          `'${param}': this model cannot call a tool named 'my tool'; expected a name without blanks, ` +
          'quotation marks, braces and angle brackets.',
        type: 'api_error',
        code: 'invalid_request',
        param,
      },
    })
  })

  it.each([
    ['is not offered to the model', { tools: [flat], tool_choice: 'none' }],
    [
      'is not among the allowed ones',
      { tools: [fine, flat], tool_choice: { type: 'allowed_tools', mode: 'auto', tools: [fine] } },
    ],
    [
      'is in the history alone',
      {
        messages: [
          ...CHAT.messages,
          { role: 'assistant', tool_calls: [{ id: 'c', function: { name: 'my tool' } }] },
        ],
      },
    ],
  ])('is no hindrance where it %s', async (_name, fields) => {
    const { chat } = await serveApp(core)
    expect((await chat({ ...CHAT, ...fields })).status).toBe(200)
  })
})
