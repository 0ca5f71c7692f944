import type { TemplateShape, TemplateShapes } from './template-shape.ts'

/**
 * A description of a chat template, for people. `refused` lists the parts of a conversation that the template cannot
 * print. `changed` lists the changes that are made to a conversation so that the template can print it.
 */
export type ShapeDescription = {
  /** Requests that contain one of these parts are refused. */
  readonly refused: readonly string[]
  readonly changed: readonly string[]
}

export function describeShapes({ plain, withTools, tools }: TemplateShapes): ShapeDescription {
  const found = [...describe(plain), ...describe(withTools)]
  const unique = (kind: Finding['kind']) =>
    Array.from(new Set(found.filter((finding) => finding.kind === kind).map(({ text }) => text)))
  return { refused: [...(tools ? [] : ['tools']), ...unique('refused')], changed: unique('changed') }
}

type Finding = { readonly kind: 'refused' | 'changed'; readonly text: string }

/**
 * The texts of a description: for each field of the shape, one text for each value of the field. A value without a text
 * is not described.
 */
const TEXTS: { readonly [Field in keyof TemplateShape]?: Readonly<Record<string, string>> } = {
  leadingSystems: {
    null: 'system messages',
    joined: 'several system messages become one',
    folded: 'system messages go in front of the first user message',
  },
  laterSystem: {
    null: 'a system message behind other messages',
    folded: 'a later system message goes in front of the next user message',
  },
  noUser: {
    null: 'a conversation without a user message',
    folded: 'a system message alone becomes a user message',
  },
  usersInARow: { null: 'user messages in a row', joined: 'user messages in a row become one' },
  assistantsInARow: {
    null: 'assistant messages in a row',
    joined: 'assistant messages in a row become one',
  },
  assistantFirst: {
    null: 'an assistant message before any user message',
    bridged: 'an empty user message goes before a first assistant message',
  },
  otherArguments: {
    null: 'a call whose arguments are no JSON object',
    wrapped: 'arguments that are no JSON object become one argument',
  },
  severalCalls: {
    null: 'several calls in a message',
    split: 'each of several calls becomes a message with its result',
  },
  textBesideCall: {
    null: 'text beside a tool call',
    split: 'text beside a call becomes a message before it',
    bridged: 'text beside a call becomes a message before it, with an empty user message between',
  },
  unanswered: {
    null: 'a tool call without its result',
    bridged: 'an empty assistant message goes behind a call without a result',
    answered: 'a call without a result gets an empty one',
  },
  orphanResult: {
    null: 'a tool result without its call',
    folded: 'a result without its call becomes a user message',
  },
  userBehindResult: {
    null: 'a user message behind a tool result',
    bridged: 'an empty assistant message goes between a result and a user message',
    joined: 'a user message behind a result is appended to it',
  },
  reasoningBesideText: { joined: 'text beside a call is appended to its reasoning' },
}

function describe(shape: TemplateShape): Finding[] {
  if (shape.calls === null)
    return [{ kind: 'refused', text: 'tool calls' }, ...describeFields(shape, BEFORE_CALLS)]
  const calls: readonly Finding[] =
    shape.calls.form === 'written'
      ? [{ kind: 'changed', text: 'calls are written into the text, as the model writes them' }]
      : []
  return [...calls, ...describeFields(shape, ALL)]
}

const ALL = [
  'leadingSystems',
  'laterSystem',
  'noUser',
  'usersInARow',
  'assistantsInARow',
  'assistantFirst',
  'otherArguments',
  'severalCalls',
  'textBesideCall',
  'unanswered',
  'orphanResult',
  'userBehindResult',
  'reasoningBesideText',
] as const

/** The fields that apply to a template without calls. */
const BEFORE_CALLS = ALL.slice(0, 6)

function describeFields(shape: TemplateShape, fields: readonly (typeof ALL)[number][]): Finding[] {
  return fields.flatMap((field): Finding[] => {
    const value = shape[field]
    const text = TEXTS[field]?.[String(value)]
    if (text === undefined) return []
    return [{ kind: value === null ? 'refused' : 'changed', text }]
  })
}
