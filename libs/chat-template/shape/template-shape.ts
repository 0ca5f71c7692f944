/**
 * The messages that a chat template can print, and the changes that fit other messages to it. Templates of real models
 * differ: some print only one system message, some raise an error at the second user message, some want arguments as
 * text. `probeTemplate` finds the shape; `fitMessages` and `toTemplateMessage` follow it.
 *
 * With the values of `PLAIN_SHAPE`, messages are printed unchanged. Each field describes one kind of messages. The
 * field is null if the template leaves out or refuses messages of this kind, in whatever form. A request that contains
 * such messages is then refused.
 */
export type TemplateShape = {
  /**
   * System messages at the start. `joined`: they become one system message. `folded`: they become a user message. If
   * another user message follows directly, both become one.
   */
  readonly leadingSystems: 'kept' | 'joined' | 'folded' | null
  /**
   * A system message behind other messages. `folded`: it becomes a user message. If another user message follows
   * directly, both become one.
   */
  readonly laterSystem: 'kept' | 'folded' | null
  /**
   * A conversation that begins with system messages and has no user message. `folded`: these system messages become a
   * user message.
   */
  readonly noUser: 'kept' | 'folded' | null
  /** User messages in a row. `joined`: they become one. */
  readonly usersInARow: 'kept' | 'joined' | null
  /** Assistant messages in a row. `joined`: they become one. `bridged`: an empty user message goes between them. */
  readonly assistantsInARow: 'kept' | 'joined' | 'bridged' | null
  /** An assistant message before any user message. `bridged`: an empty user message goes before it. */
  readonly assistantFirst: 'kept' | 'bridged' | null
  /** How a call is passed to the template. */
  readonly calls: CallShape | null
  /**
   * Arguments that are no JSON object, as in a call that was cut off. `wrapped`: they become one value in an object.
   */
  readonly otherArguments: 'text' | 'wrapped' | null
  /** Several calls in one message. `split`: each call becomes a message of its own, followed by its result. */
  readonly severalCalls: 'kept' | 'split' | null
  /**
   * Text beside a call. `split`: it becomes a message before the call. `bridged`: as `split`, with an empty user
   * message between the text and the call.
   */
  readonly textBesideCall: 'kept' | 'split' | 'bridged' | null
  /**
   * A call without a result. `bridged`: an empty assistant message goes behind it. `answered`: it gets an empty result.
   */
  readonly unanswered: 'kept' | 'bridged' | 'answered' | null
  /** A result without its call. `folded`: it becomes a user message. */
  readonly orphanResult: 'kept' | 'folded' | null
  /**
   * A user message behind a result. `bridged`: an empty assistant message goes between the two. `joined`: the user
   * message is appended to the result.
   */
  readonly userBehindResult: 'kept' | 'bridged' | 'joined' | null
  /** The fields in which reasoning is printed. Most templates print only the reasoning since the last user message. */
  readonly reasoning: ReasoningShape
  /** Reasoning and text beside a call. `joined`: the text is appended to the reasoning. */
  readonly reasoningBesideText: 'kept' | 'joined'
}

/**
 * The two shapes of a model: for conversations without tools and for conversations with tools. Many templates print a
 * conversation differently if there are tools, and some models have a second template for conversations with tools.
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

/**
 * `both`: reasoning is in the fields `reasoning` and `reasoning_content`, as in vLLM. `parts`: the content is a list of
 * parts. The other values are the names of the field that reasoning is in.
 */
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
