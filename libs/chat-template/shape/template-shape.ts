/**
 * The messages that a chat template can print, and the changes that make it print all others. Templates of real models
 * differ: some print one system message, some raise an error at the second user message, some want arguments as text.
 * `probeTemplate` finds the shape; `fitMessages` and `toTemplateMessage` follow it.
 *
 * A field is null if the template loses or refuses such messages however they are written; a request with them is
 * refused. The first value of each field prints messages unchanged.
 */
export type TemplateShape = {
  /** Several system messages before all others: printed each, or joined to one, or put in front of the next user text. */
  readonly leadingSystems: 'kept' | 'joined' | 'folded' | null
  /** A system message further on: printed in its place, or put in front of the next user text. */
  readonly laterSystem: 'kept' | 'folded' | null
  /** A conversation without a user message: as it is, or the system message becomes one. */
  readonly noUser: 'kept' | 'folded' | null
  /** A user message behind a user message. */
  readonly usersInARow: 'kept' | 'joined' | null
  /** An assistant's text behind an assistant's text: as it is, or joined, or with an empty user message between them. */
  readonly assistantsInARow: 'kept' | 'joined' | 'bridged' | null
  /** An assistant's message before any user message: as it is, or behind an empty user message. */
  readonly assistantFirst: 'kept' | 'bridged' | null
  /** How a call is passed to the template. */
  readonly calls: CallShape | null
  /** Arguments that are no JSON object, as in a call that was cut: passed as text, or as a value of an object. */
  readonly otherArguments: 'text' | 'wrapped' | null
  /** Several calls in one message: as they are, or one message for each, with its result. */
  readonly severalCalls: 'kept' | 'split' | null
  /** Text in the message of a call: as it is, or in a message before, or also with an empty user message between. */
  readonly textBesideCall: 'kept' | 'split' | 'bridged' | null
  /** A call without a result: as it is, or with an empty assistant's message behind it, or with an empty result. */
  readonly unanswered: 'kept' | 'bridged' | 'answered' | null
  /** A result without its call: as it is, or as a user text. */
  readonly orphanResult: 'kept' | 'folded' | null
  /** A user message behind a result: as it is, or with an empty assistant's message between, or in the result's text. */
  readonly userBehindResult: 'kept' | 'bridged' | 'joined' | null
  /** The fields in which reasoning is printed. Most templates print only the reasoning since the last user message. */
  readonly reasoning: ReasoningShape
  /** Reasoning and text in the message of a call: as they are, or joined to one reasoning. */
  readonly reasoningBesideText: 'kept' | 'joined'
}

/**
 * The shapes of a model without and with tools: many templates print conversations differently if there are tools, and
 * some models have a second template for them.
 */
export type TemplateShapes = {
  readonly plain: TemplateShape
  readonly withTools: TemplateShape
  /** True if names, descriptions and parameters of tools are printed. */
  readonly tools: boolean
}

export type CallShape = {
  /** `object`, `text`: the form of the arguments. `written`: calls follow the text, as the model itself writes them. */
  readonly form: 'object' | 'text' | 'written'
  /** The content of a message that has calls and no text. */
  readonly empty: '' | null
  /** True if a result carries the name of its call. */
  readonly namedResults: boolean
}

/** `both`: `reasoning` and `reasoning_content`, as vLLM has it. `parts`: the content is a list of parts. */
export type ReasoningShape = 'both' | 'thinking' | 'tool_plan' | 'parts'

/** The shape that fits most templates. Probes begin with it. */
export const PLAIN_SHAPE: TemplateShape = {
  leadingSystems: 'kept',
  laterSystem: 'kept',
  noUser: 'kept',
  usersInARow: 'kept',
  assistantsInARow: 'kept',
  assistantFirst: 'kept',
  calls: { form: 'object', empty: '', namedResults: false },
  otherArguments: 'text',
  severalCalls: 'kept',
  textBesideCall: 'kept',
  unanswered: 'kept',
  orphanResult: 'kept',
  userBehindResult: 'kept',
  reasoning: 'both',
  reasoningBesideText: 'kept',
}

export const PLAIN_SHAPES: TemplateShapes = { plain: PLAIN_SHAPE, withTools: PLAIN_SHAPE, tools: true }
