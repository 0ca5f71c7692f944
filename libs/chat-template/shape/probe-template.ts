import type { ChatMessage, ToolCall, ToolDefinition } from '#libs/contracts/generation-request.ts'
import { fitMessages } from './fit-messages.ts'
import { PLAIN_SHAPE, type TemplateShape } from './template-shape.ts'
import { toTemplateMessage, type SafeValues, type WriteCalls } from './to-template-message.ts'

/** Renders messages as `toTemplateMessage` returns them. Throws the template's errors. */
export type PrintMessages = (messages: readonly Record<string, unknown>[]) => string

/**
 * Finds the shape of a template by asking it questions. Each question has test conversations and possible answers. The
 * words of the conversations occur nowhere else. An answer is a set of values for fields of the shape. For each answer
 * in turn, `fitMessages` changes the conversations and the template renders them. The template's answer is the first
 * one with which every word is printed once and in order, or `otherwise` if there is none. All questions together take
 * some forty renderings, in a few milliseconds.
 *
 * A template that does not even print a user's text unchanged is asked no question: it gets all messages unchanged.
 */
export function probeTemplate(print: PrintMessages, writeCalls: WriteCalls): TemplateShape {
  let shape: TemplateShape = PLAIN_SHAPE
  const plain = { messages: [user(ASKED)], words: [ASKED] }
  if (!prints(plain, { shape, print, writeCalls })) return PLAIN_SHAPE
  for (const { conversations, answers, otherwise } of QUESTIONS) {
    const answer = answers.find((candidate) =>
      conversations.every((conversation) =>
        prints(conversation, { shape: { ...shape, ...candidate }, print, writeCalls }),
      ),
    )
    shape = { ...shape, ...(answer ?? otherwise) }
  }
  return shape
}

type Conversation = {
  readonly messages: readonly ChatMessage[]
  /** Words that the prompt must have once, in this order. */
  readonly words: readonly string[]
  /**
   * Further words that the prompt must have once, at any place. They are from the system messages at the start, which
   * some templates print in front of the last user message.
   */
  readonly anywhere?: readonly string[]
}

function prints(
  { messages, words, anywhere = [] }: Conversation,
  options: { readonly shape: TemplateShape; readonly print: PrintMessages; readonly writeCalls: WriteCalls },
): boolean {
  const { shape, print, writeCalls } = options
  try {
    const fitted = fitMessages(messages, shape)
    const prompt = print(
      fitted.map((message) => toTemplateMessage(message, shape, { safe: PLAIN_VALUES, writeCalls })),
    )
    const isOnce = (word: string) => prompt.split(word).length === 2
    const places = words.map((word) => prompt.indexOf(word))
    const isOrdered = places.every((place, i) => place > (places[i - 1] ?? -1))
    return isOrdered && [...words, ...anywhere].every(isOnce) && !PRINTED_PARTS.test(prompt)
  } catch {
    return false
  }
}

/**
 * Matches a prompt that contains a list of content parts. The template expects a text as the content, so it has printed
 * the list itself, not the text in it.
 */
const PRINTED_PARTS = /["']type["']: ?["'](?:thinking|text)["']/

/** The words of the probes need no guard. */
export const PLAIN_VALUES: SafeValues = {
  text: (text) => text,
  json: (json) => JSON.parse(json),
  exactJson: (json) => JSON.parse(json),
}

/**
 * Words that no template contains. They look like ordinary words, because templates may change the case of other words.
 */
const [RULE, ORDER, LATER] = ['qzrule', 'qzorder', 'qzlater']
const [ASKED, AGAIN, THIRD] = ['qzasked', 'qzagain', 'qzthird']
const [SAID, MORE, THOUGHT] = ['qzsaid', 'qzmore', 'qzthought']
const [PARIS, OSLO, SUNNY, RAINY] = ['qzparis', 'qzoslo', 'qzsunny', 'qzrainy']

/** Nine letters and digits: no template refuses ids of this form. */
const [FIRST_ID, SECOND_ID] = ['qzcall001', 'qzcall002']

/** The tool that the probes call. */
export const PROBED_TOOL: ToolDefinition = {
  name: 'qzweather',
  description: 'qzdescribed',
  parameters: {
    type: 'object',
    properties: { qzcity: { type: 'string', description: 'qzplace' } },
    required: ['qzcity'],
  },
}

/**
 * Returns whether a template prints the names, descriptions and parameters of tools. Also returns true if rendering the
 * probe throws an error, because such a template itself refuses a request with tools.
 */
export function probeTools(print: PrintMessages): boolean {
  try {
    const prompt = print([{ role: 'user', content: ASKED }])
    return ['qzweather', 'qzdescribed', 'qzcity', 'qzplace'].every((word) => prompt.includes(word))
  } catch {
    return true
  }
}

const system = (content: string): ChatMessage => ({ role: 'system', content })
const user = (content: string): ChatMessage => ({ role: 'user', content })
const call = (id: string, city: string): ToolCall => ({
  id,
  name: PROBED_TOOL.name,
  arguments: JSON.stringify({ city }),
})
const assistant = (
  content: string,
  { calls = [], reasoning = '' }: { calls?: ToolCall[]; reasoning?: string } = {},
): ChatMessage => ({ role: 'assistant', content, reasoning, toolCalls: calls })
const result = (toolCallId: string, content: string): ChatMessage => ({ role: 'tool', toolCallId, content })

const oneCall = assistant('', { calls: [call(FIRST_ID, PARIS)] })

type Question = {
  readonly conversations: readonly Conversation[]
  /** The possible answers, in order of preference. */
  readonly answers: readonly Partial<TemplateShape>[]
  readonly otherwise: Partial<TemplateShape>
}

/** Each question is asked with the answers to all questions before it. */
const QUESTIONS: readonly Question[] = [
  {
    conversations: [
      {
        messages: [system(RULE), system(ORDER), system(LATER), user(ASKED)],
        words: [RULE, ORDER, LATER, ASKED],
      },
      { messages: [system(RULE), user(ASKED)], words: [RULE, ASKED] },
      { messages: [system(RULE), user(ASKED), assistant(SAID)], words: [ASKED, SAID], anywhere: [RULE] },
    ],
    answers: [{ leadingSystems: 'kept' }, { leadingSystems: 'joined' }, { leadingSystems: 'folded' }],
    otherwise: { leadingSystems: null },
  },
  {
    conversations: [{ messages: [system(RULE)], words: [RULE] }],
    answers: [{ noUser: 'kept' }, { noUser: 'folded' }],
    otherwise: { noUser: null },
  },
  {
    conversations: [
      { messages: [user(ASKED), user(AGAIN)], words: [ASKED, AGAIN] },
      {
        messages: [user(ASKED), user(AGAIN), assistant(SAID), user(THIRD)],
        words: [ASKED, AGAIN, SAID, THIRD],
      },
    ],
    answers: [{ usersInARow: 'kept' }, { usersInARow: 'joined' }],
    otherwise: { usersInARow: null },
  },
  {
    conversations: [
      {
        messages: [user(ASKED), assistant(SAID), assistant(MORE), user(AGAIN)],
        words: [ASKED, SAID, MORE, AGAIN],
      },
    ],
    answers: [{ assistantsInARow: 'kept' }, { assistantsInARow: 'joined' }],
    otherwise: { assistantsInARow: null },
  },
  {
    conversations: [
      { messages: [assistant(SAID), user(ASKED)], words: [SAID, ASKED] },
      { messages: [system(RULE), assistant(SAID), user(ASKED)], words: [SAID, ASKED], anywhere: [RULE] },
    ],
    answers: [{ assistantFirst: 'kept' }, { assistantFirst: 'bridged' }],
    otherwise: { assistantFirst: null },
  },
  {
    conversations: [
      {
        messages: [system(RULE), user(ASKED), assistant(SAID), system(LATER), user(AGAIN)],
        words: [ASKED, SAID, LATER, AGAIN],
        anywhere: [RULE],
      },
      {
        messages: [user(ASKED), assistant(SAID), user(AGAIN), system(LATER)],
        words: [ASKED, SAID, AGAIN, LATER],
      },
      {
        messages: [user(ASKED), system(LATER), assistant(SAID), user(AGAIN)],
        words: [ASKED, LATER, SAID, AGAIN],
      },
    ],
    answers: [{ laterSystem: 'kept' }, { laterSystem: 'folded' }],
    otherwise: { laterSystem: null },
  },
  {
    conversations: [
      { messages: [user(ASKED), oneCall, result(FIRST_ID, SUNNY)], words: [ASKED, PARIS, SUNNY] },
      {
        messages: [user(ASKED), oneCall, result(FIRST_ID, SUNNY), assistant(SAID), user(AGAIN)],
        words: [ASKED, PARIS, SUNNY, SAID, AGAIN],
      },
    ],
    answers: [false, true].flatMap((namedResults) => [
      { calls: { form: 'object', empty: '', namedResults } },
      { calls: { form: 'object', empty: null, namedResults } },
      { calls: { form: 'text', empty: '', namedResults } },
      { calls: { form: 'text', empty: null, namedResults } },
      { calls: { form: 'written', empty: '', namedResults } },
    ]),
    otherwise: { calls: null },
  },
  {
    conversations: [
      {
        messages: [system(RULE), user(ASKED), oneCall, result(FIRST_ID, SUNNY)],
        words: [ASKED, PARIS, SUNNY],
        anywhere: [RULE],
      },
    ],
    answers: [{}, { leadingSystems: 'folded' }],
    otherwise: {},
  },
  {
    conversations: [`{"city": "${PARIS}`, `["${PARIS}"]`, `"${PARIS}"`].map((text) => ({
      messages: [
        user(ASKED),
        assistant('', { calls: [{ ...call(FIRST_ID, PARIS), arguments: text }] }),
        result(FIRST_ID, SUNNY),
      ],
      words: [ASKED, PARIS, SUNNY],
    })),
    answers: [{ otherArguments: 'text' }, { otherArguments: 'wrapped' }],
    otherwise: { otherArguments: null },
  },
  {
    // A result may stand before the next call.
    conversations: [
      [ASKED, PARIS, OSLO, RAINY],
      [ASKED, PARIS, SUNNY, RAINY],
    ].map((words) => ({
      messages: [
        user(ASKED),
        assistant('', { calls: [call(FIRST_ID, PARIS), call(SECOND_ID, OSLO)] }),
        result(FIRST_ID, SUNNY),
        result(SECOND_ID, RAINY),
      ],
      words,
    })),
    answers: [{ severalCalls: 'kept' }, { severalCalls: 'split' }],
    otherwise: { severalCalls: null },
  },
  {
    conversations: [
      {
        messages: [user(ASKED), oneCall, result(FIRST_ID, SUNNY), user(AGAIN)],
        words: [ASKED, PARIS, SUNNY, AGAIN],
      },
    ],
    answers: [{ userBehindResult: 'kept' }, { userBehindResult: 'bridged' }, { userBehindResult: 'joined' }],
    otherwise: { userBehindResult: null },
  },
  {
    conversations: [
      { messages: [user(ASKED), oneCall], words: [ASKED, PARIS] },
      { messages: [user(ASKED), oneCall, user(AGAIN)], words: [ASKED, PARIS, AGAIN] },
      { messages: [user(ASKED), oneCall, assistant(SAID), user(AGAIN)], words: [ASKED, PARIS, SAID, AGAIN] },
    ],
    answers: [{ unanswered: 'kept' }, { unanswered: 'bridged' }, { unanswered: 'answered' }],
    otherwise: { unanswered: null },
  },
  {
    conversations: [
      { messages: [user(ASKED), result(FIRST_ID, SUNNY), user(AGAIN)], words: [ASKED, SUNNY, AGAIN] },
      {
        messages: [user(ASKED), oneCall, result(FIRST_ID, SUNNY), result(SECOND_ID, RAINY)],
        words: [ASKED, PARIS, SUNNY, RAINY],
      },
      {
        messages: [user(ASKED), oneCall, result(FIRST_ID, SUNNY), result(FIRST_ID, RAINY)],
        words: [ASKED, PARIS, SUNNY, RAINY],
      },
    ],
    answers: [{ orphanResult: 'kept' }, { orphanResult: 'folded' }],
    otherwise: { orphanResult: null },
  },
  {
    conversations: [
      {
        messages: [user(ASKED), assistant(SAID, { calls: [call(FIRST_ID, PARIS)] }), result(FIRST_ID, SUNNY)],
        words: [ASKED, SAID, PARIS, SUNNY],
      },
      {
        messages: [
          user(ASKED),
          assistant(SAID, { calls: [call(FIRST_ID, PARIS)] }),
          result(FIRST_ID, SUNNY),
          assistant(MORE),
          user(AGAIN),
        ],
        words: [ASKED, SAID, PARIS, SUNNY, MORE, AGAIN],
      },
    ],
    answers: [{ textBesideCall: 'kept' }, { textBesideCall: 'split' }, { textBesideCall: 'bridged' }],
    otherwise: { textBesideCall: null },
  },
  {
    conversations: [
      {
        messages: [
          user(ASKED),
          assistant('', { calls: [call(FIRST_ID, PARIS)], reasoning: THOUGHT }),
          result(FIRST_ID, SUNNY),
        ],
        words: [ASKED, THOUGHT, PARIS, SUNNY],
      },
    ],
    answers: [
      { reasoning: 'both' },
      { reasoning: 'thinking' },
      { reasoning: 'tool_plan' },
      { reasoning: 'parts' },
    ],
    // The template may print reasoning in a way that no probe finds. A field that it does not read does no harm.
    otherwise: { reasoning: 'both' },
  },
  {
    conversations: [
      {
        messages: [
          user(ASKED),
          assistant(SAID, { calls: [call(FIRST_ID, PARIS)], reasoning: THOUGHT }),
          result(FIRST_ID, SUNNY),
        ],
        words: [ASKED, SAID, PARIS, SUNNY],
      },
    ],
    answers: [{ reasoningBesideText: 'kept' }, { reasoningBesideText: 'joined' }],
    otherwise: { reasoningBesideText: 'kept' },
  },
]
