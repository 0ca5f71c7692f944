import type { ModelFamily } from '#libs/dialect/family.ts'
import { TOOL_CALL_FORMATS } from '#libs/dialect/formats.ts'
import type { CallToWrite } from '#libs/dialect/tool-call-format.ts'
import type { Random } from '#test/chaos/random.ts'
import { UNMARKED } from './any-calls.ts'

/** An output with a model's usual mistakes, and its reasoning, text and calls, which the writer knows. */
export type NoisyOutput = {
  readonly text: string
  readonly startsInReasoning: boolean
  /** The reasoning, without blanks. */
  readonly reasoning: string
  readonly answer: string
  readonly calls: readonly { readonly name: string; readonly args: unknown }[]
}

/** The output that a writer has written so far. */
type Page = {
  text: string
  reasoning: string
  answer: string
  calls: { name: string; args: unknown }[]
}

/**
 * Writes reasoning, text and calls with the mistakes that models make:
 *
 * - calls within the reasoning;
 * - markup that is only mentioned;
 * - sections without their markers;
 * - several calls in a block;
 * - close tags that are missing at the end or that occur twice;
 * - arguments that are null.
 */
export function writeNoisily(family: ModelFamily, random: Random): NoisyOutput {
  const page: Page = { text: '', reasoning: '', answer: '', calls: [] }
  const { reasoning: tags } = family
  let startsInReasoning = false
  if (tags === 'harmony') writeHarmony(page, random)
  else if (typeof tags === 'object') {
    if (random.chance(0.7)) {
      startsInReasoning = random.chance(0.5)
      // Some models repeat the tag with which the template has opened the reasoning.
      if (!startsInReasoning || random.chance(0.2)) page.text += tags.open
      writeParts(page, { family, random, part: 'reasoning' })
      page.text += tags.close
    }
    const isTagged = tags.answer !== undefined && random.chance(0.5)
    if (isTagged) page.text += tags.answer?.open ?? ''
    writeParts(page, { family, random, part: 'answer' })
    if (isTagged) page.text += tags.answer?.close ?? ''
  } else writeParts(page, { family, random, part: 'answer' })
  const bare = (text: string) => text.replaceAll(/\s/g, '')
  return { ...page, startsInReasoning, reasoning: bare(page.reasoning), answer: bare(page.answer) }
}

type Part = { readonly family: ModelFamily; readonly random: Random; readonly part: 'reasoning' | 'answer' }

const say = (page: Page, part: Part['part'], text: string): void => {
  page.text += text
  page[part] += text
}

const WORDS = [
  'Let me see. ',
  '1 < 2\n',
  'Hello, ',
  'a {b} [c] ',
  '"quoted" ',
  'größer 東京 ',
  '\n\n',
  '| x | ',
]

function writeParts(page: Page, options: Part): void {
  const { family, random, part } = options
  const words = () => random.pick(WORDS).repeat(random.int(1, 2))
  if (family.toolCalls === 'none' || family.toolCalls === 'harmony') return say(page, part, words())
  // In a format without markers, a call counts only if no text comes before it.
  if (UNMARKED.has(family.toolCalls)) {
    if (random.chance(0.5)) return writeCalls(page, options)
    return say(page, part, random.pick(['{"name": "Ada", "parameters": {"age": 36}}', '[1, 2]', 'Hello']))
  }
  for (let count = random.int(1, 3); count > 0; count -= 1) {
    if (random.chance(0.4)) writeCalls(page, options)
    else if (random.chance(0.2)) say(page, part, mention(family, random))
    else say(page, part, words())
  }
}

/**
 * Returns a sentence that mentions a call's markup. A model cannot mention control tokens, because they are never text.
 */
function mention(family: ModelFamily, random: Random): string {
  if (family.toolCalls !== 'hermes') return 'a call '
  return random.pick(['The form is <tool_call>{...}</tool_call>. ', 'I write <tool_call> here. '])
}

const CALLS: readonly CallToWrite[] = [
  { name: 'search', args: { text: 'Paris', count: 3 }, json: '{"text": "Paris", "count": 3}' },
  { name: 'search', args: { exact: true }, json: '{"exact": true}' },
  { name: 'world_clock', args: {}, json: '{}' },
]

function writeCalls(page: Page, { family, random, part }: Part): void {
  if (family.toolCalls === 'none') return
  const { write, read } = TOOL_CALL_FORMATS[family.toolCalls]
  const calls = Array.from({ length: random.int(1, 2) }, () => random.pick(CALLS))
  page.calls.push(...calls.map(({ name, args }) => ({ name, args })))
  const isNull = random.chance(0.3) && NULLABLE.has(family.toolCalls)
  let text = write(calls.map((call) => (isNull && call.json === '{}' ? { ...call, json: 'null' } : call)))
  const section = read.type === 'text' ? read.section : undefined
  if (section !== undefined && random.chance(0.3))
    text = text.replaceAll(section.open, '').replaceAll(section.close, '')
  if (family.toolCalls === 'hermes' && random.chance(0.4))
    text = text.replaceAll('</tool_call>\n<tool_call>\n', '')
  page.text += text + (part === 'answer' && random.chance(0.2) ? '\n' : '')
}

/** Formats whose arguments are JSON. */
const NULLABLE: ReadonlySet<string> = new Set([
  'hermes',
  'deepseek-v3',
  'deepseek-v3.1',
  'kimi-k2',
  'mistral',
  'granite3',
  'cohere',
  'functools',
])

function writeHarmony(page: Page, random: Random): void {
  const count = random.int(1, 4)
  for (let i = 0; i < count; i += 1) {
    const isLast = i === count - 1
    const kind = random.pick(['reasoning', 'answer', 'call'] as const)
    if (i > 0) page.text += '<|start|>assistant'
    if (kind === 'call') {
      const { name, args, json } = random.pick(CALLS)
      const channel = random.pick(['commentary', 'analysis'])
      const constrain = random.pick(['', ' <|constrain|>json', 'json'])
      page.text += `<|channel|>${channel} to=functions.${name}${constrain === 'json' ? ' json' : constrain}<|message|>`
      page.text += json === '{}' && random.chance(0.4) ? 'null' : json
      page.text += isLast && random.chance(0.3) ? '' : '<|call|>'
      page.calls.push({ name, args })
    } else {
      page.text += `<|channel|>${kind === 'reasoning' ? 'analysis' : 'final'}<|message|>`
      say(page, kind, random.pick(WORDS))
      page.text += isLast && random.chance(0.3) ? '' : '<|end|>'
    }
  }
}
