import type { TemplateShape } from '#libs/chat-template/shape/template-shape.ts'

/** A small chat template with one peculiarity, and the fields in which its shape differs from the plain template's. */
export type ShapedTemplate = {
  readonly name: string
  readonly source: string
  readonly shape: Partial<TemplateShape>
}

const TOOLS = `{% if tools %}<tools>{{ tools | tojson }}</tools>{% endif %}`
const END = `{% if add_generation_prompt %}<assistant>{% endif %}`
const CALLS = `{% for call in m.tool_calls %}<call>{{ call.function.name }} {{ call.function.arguments | tojson }}</call>{% endfor %}`
const TURN = `<{{ m.role }}>{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}{{ m.content }}{% if m.tool_calls %}${CALLS}{% endif %}\n`

/** Prints `turn` for each message `m`. */
const each = (turn: string): string => `${TOOLS}{% for m in messages %}${turn}{% endfor %}${END}`

/** Prints `before` in front of each turn, which is plain otherwise. */
const guarded = (before: string): string => each(before + TURN)

const refuse = (condition: string): string =>
  `{% if ${condition} %}{{ raise_exception('refused') }}{% endif %}`

const FIRST_SYSTEM = `{% if messages[0].role == 'system' %}<system>{{ messages[0].content }}\n{% endif %}{% for m in messages %}{% if m.role != 'system' %}${TURN}{% endif %}{% endfor %}${END}`

/**
 * A template that raises an error unless user messages and assistant messages alternate. Messages with tool calls, and
 * the results of tools, do not count. The template also raises an error for a system message that is not the first
 * message.
 */
const ALTERNATING = `${TOOLS}{% set ns = namespace(turn=0) %}{% for m in messages %}{% if m.role in ['user', 'assistant'] and not m.tool_calls %}{% if (m.role == 'user') != (ns.turn % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}{% set ns.turn = ns.turn + 1 %}{% endif %}{% if m.role == 'system' and not loop.first %}{{ raise_exception('system first') }}{% endif %}${TURN}{% endfor %}${END}`

/** One template for each peculiarity of published templates. */
export const SHAPED_TEMPLATES: readonly ShapedTemplate[] = [
  { name: 'prints everything', source: each(TURN), shape: {} },
  {
    name: 'prints the first system message only',
    source: TOOLS + FIRST_SYSTEM,
    shape: { leadingSystems: 'joined', laterSystem: 'folded' },
  },
  {
    name: 'refuses a system message behind the first message',
    source: guarded(refuse("m.role == 'system' and not loop.first")),
    shape: { leadingSystems: 'joined', laterSystem: 'folded' },
  },
  {
    name: 'has no system messages',
    source: guarded(refuse("m.role == 'system'")),
    shape: { leadingSystems: 'folded', laterSystem: 'folded' },
  },
  {
    name: 'needs a user message',
    source: refuse("not messages | selectattr('role', 'equalto', 'user') | list") + each(TURN),
    shape: { noUser: 'folded' },
  },
  {
    name: 'wants users and assistants in turns',
    source: ALTERNATING,
    shape: {
      leadingSystems: 'joined',
      laterSystem: 'folded',
      usersInARow: 'joined',
      assistantsInARow: 'joined',
      assistantFirst: 'bridged',
      userBehindResult: 'bridged',
      unanswered: 'answered',
    },
  },
  {
    name: 'adds arguments to a text',
    source: each(TURN.replace('call.function.arguments | tojson', "'' + call.function.arguments")),
    shape: { calls: { form: 'text', empty: '', namedResults: false } },
  },
  {
    name: 'iterates over arguments',
    source: each(
      TURN.replace(
        '{{ call.function.arguments | tojson }}',
        '{% for key, value in call.function.arguments.items() %}<{{ key }}>{{ value }}{% endfor %}',
      ),
    ),
    shape: { otherArguments: 'wrapped' },
  },
  {
    name: 'prints calls where the content is null only',
    source: each(
      `<{{ m.role }}>{% if m.tool_calls and m.content is none %}${CALLS}{% else %}{{ m.content }}{% endif %}\n`,
    ),
    shape: { calls: { form: 'object', empty: null, namedResults: false }, textBesideCall: 'split' },
  },
  {
    name: 'prints no calls',
    source: each('<{{ m.role }}>{{ m.content }}\n'),
    shape: { calls: { form: 'written', empty: '', namedResults: false } },
  },
  {
    name: 'prints results by the name of their call only',
    source: each(
      `{% if m.role != 'tool' or m.name %}<{{ m.name or m.role }}>{{ m.content }}${CALLS}{% endif %}`,
    ),
    shape: { calls: { form: 'object', empty: '', namedResults: true }, orphanResult: 'folded' },
  },
  {
    name: 'prints the first call of a message only',
    source: each(TURN.replace('m.tool_calls %}<call>', 'm.tool_calls[:1] %}<call>')),
    shape: { severalCalls: 'split' },
  },
  {
    name: 'prints either text or calls',
    source: each(`<{{ m.role }}>{% if m.tool_calls %}${CALLS}{% else %}{{ m.content }}{% endif %}\n`),
    shape: { textBesideCall: 'split' },
  },
  {
    name: 'has results behind calls only',
    source: guarded(
      refuse(
        "m.role == 'tool' and not (messages[loop.index0 - 1].tool_calls or messages[loop.index0 - 1].role == 'tool')",
      ),
    ),
    shape: { orphanResult: 'folded' },
  },
  {
    name: 'prints the first result of an id only',
    source:
      TOOLS +
      `{% set seen = namespace(ids=[]) %}{% for m in messages %}{% if m.role != 'tool' or m.tool_call_id not in seen.ids %}${TURN}{% endif %}{% if m.role == 'tool' %}{% set seen.ids = seen.ids + [m.tool_call_id] %}{% endif %}{% endfor %}${END}`,
    shape: { orphanResult: 'folded' },
  },
  {
    name: 'names the reasoning thinking, and has no text beside it and a call',
    source: each(
      `${refuse('m.tool_calls and m.content and m.thinking')}<{{ m.role }}>{{ m.thinking }}{{ m.content }}${CALLS}\n`,
    ),
    shape: { reasoning: 'thinking', reasoningBesideText: 'joined' },
  },
  {
    name: 'has the reasoning as a part of the content',
    source: each(
      `<{{ m.role }}>{% if m.content is string %}{{ m.content }}{% else %}{% for part in m.content %}{{ part.thinking or part.text }}{% endfor %}{% endif %}${CALLS}\n`,
    ),
    shape: { reasoning: 'parts' },
  },
]

/** A template that changes the text of a conversation, so that its shape cannot be found out. */
export const SHOUTING = `{% for m in messages %}{{ m.content | upper }}{% endfor %}`
