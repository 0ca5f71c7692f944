import { describe, expect, it } from 'vitest'
import { checkToolName } from '#libs/dialect/check-tool-name.ts'
import { TOOL_CALL_FORMAT_NAMES, TOOL_CALL_FORMATS, type ToolCallFormatName } from '#libs/dialect/formats.ts'
import { parseWith } from './parse-under-test.ts'

/** Names that every format can call. */
const PLAIN = [
  'get_weather',
  'getWeather',
  'get-weather',
  'weather.get',
  'a',
  '天気',
  'météo',
  'x'.repeat(200),
]
/** Names that MCP servers use and that Python does not allow. */
const MCP = ['fs/read', 'ns:fn', '1st', 'server__tool', '@scope/tool', 'a:1', 'functions.f', '$ref']
const ODD = [
  'my tool',
  ' f',
  'f ',
  "it's",
  'x"y',
  'a\\b',
  'a<b',
  'a>b',
  'a{b}',
  'a[b]',
  'f()',
  'a,b',
  'a\nb',
  'a=b',
]
const MARKUP = ['</tool_call>', '[ARGS]', 'a[CALL_ID]b', '<|call|>', 'to=f', '｜DSML｜']
const RECIPIENTS = ['all', 'assistant', 'user', 'final', 'analysis', 'commentary', 'null', 'true', 'None']

const NAMES = [...PLAIN, ...MCP, ...ODD, ...MARKUP, ...RECIPIENTS]
const JSON_TEXT = '{"city": "Paris"}'

const allowedBy = (format: ToolCallFormatName) => NAMES.filter((name) => checkToolName(format, name) === null)

/** Parses the output at once, and character by character. */
const read = (format: ToolCallFormatName, output: string, name: string) =>
  [[output], Array.from(output)].map((pieces) => parseWith(format, pieces, { names: [name] }))

function asCall(name: string) {
  const parts = { text: '', calls: [{ name, arguments: JSON_TEXT }] }
  return [parts, parts]
}

describe.for(TOOL_CALL_FORMAT_NAMES)('%s', (format) => {
  const { write } = TOOL_CALL_FORMATS[format]
  const [allowed, refused] = [allowedBy(format), NAMES.filter((name) => !allowedBy(format).includes(name))]

  it('reads a call of every name that it allows as it was written', () => {
    expect(allowed).toEqual(expect.arrayContaining(PLAIN))
    for (const name of allowed) {
      const output = write([{ name, args: { city: 'Paris' }, json: JSON_TEXT }])
      expect(read(format, output, name)).toEqual(asCall(name))
    }
  })

  it('refuses what its markup cuts or its template breaks, and says what is allowed', () => {
    expect(refused).toContain('x"y')
    for (const name of refused) expect(checkToolName(format, name)).toMatch(/^expected /u)
  })

  it('writes calls of refused names, which a history may have', () => {
    for (const name of refused) expect(write([{ name, args: {}, json: '{}' }])).toContain(name.slice(0, 1))
  })
})

const WITH_GRAMMAR = TOOL_CALL_FORMAT_NAMES.flatMap((format) => {
  const { constrain } = TOOL_CALL_FORMATS[format]
  return constrain === null ? [] : [{ format, constrain }]
})

it.each(WITH_GRAMMAR)('$format reads a call of every name that it allows as its grammar has it', (row) => {
  const { section, begin, end } = row.constrain
  for (const name of allowedBy(row.format)) {
    const output = (section?.begin ?? '') + begin(name) + JSON_TEXT + end + (section?.end ?? '')
    const behindStart = output.replace(/^<\|start\|>assistant/u, '')
    expect(read(row.format, behindStart, name)).toEqual(asCall(name))
  }
})

it('allows every name where the format is not known, or there is none', () => {
  expect([checkToolName('none', 'x"y'), checkToolName('klingon', 'x"y')]).toEqual([null, null])
})

it('refuses the names of MCP servers only where they are written as Python', () => {
  const refusing = TOOL_CALL_FORMAT_NAMES.filter((format) => checkToolName(format, 'fs/read') !== null)
  expect(refusing).toEqual(['pythonic'])
})

it('refuses the recipients of messages only where calls are messages', () => {
  const refusing = TOOL_CALL_FORMAT_NAMES.filter((format) => checkToolName(format, 'final') !== null)
  expect(refusing).toEqual(['harmony'])
})
