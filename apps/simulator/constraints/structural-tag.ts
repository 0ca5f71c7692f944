import { z } from 'zod'
import type { Constraint, OutputConstraint, TagsConstraint } from './constraint.ts'
import { ConstraintError } from './constraint-error.ts'
import { toJsonWriter, type ValueHints } from './json-value.ts'
import { refuseGrammar, toRegexWriter } from './text-writers.ts'

/**
 * Parses the formats of xgrammar's structural tags for which the simulator can write a text:
 * - an answer: JSON, a text for a regular expression, or one of several constant texts. The header of an answer, a
 *   constant text, may come before it;
 * - tags around JSON, either in free text (`triggered_tags`) or alone (`tags_with_separator`), with or without a tag
 *   around all of them;
 * - either an answer or tags that are alone, as the model chooses (`or`);
 * - a thought, followed by one of these formats except tags in free text (`sequence`).
 *
 * Throws a ConstraintError for every other format. Its message is the recorded message of vLLM for an unknown format.
 * Only the format `grammar` has another message. Also throws a ConstraintError if the simulator can write no text for a
 * schema or a pattern.
 */
export function fromStructuralTag(given: unknown): Constraint {
  const parsed = StructuralTag.safeParse(given)
  if (!parsed.success) throw new ConstraintError("Invalid grammar specification: 'triggers'")
  const { format } = parsed.data
  if (!isBehindThought(format)) return toOutput(format)
  const [{ begin, end }, output] = format.elements
  return { kind: 'after-thinking', begin, end, output: toOutput(output) }
}

const around = { begin: z.string(), end: z.string() }

const Json = z.object({ type: z.literal('json_schema'), json_schema: z.unknown() })

const Constant = z.object({ type: z.literal('const_string'), value: z.string() })

const Content = z.union([
  Json,
  z.object({ type: z.literal('regex'), pattern: z.string() }),
  z.object({ type: z.literal('grammar'), grammar: z.string() }),
  z.object({ type: z.literal('or'), elements: z.array(Constant).min(1) }),
])
type Content = z.infer<typeof Content>

const Answer = z.union([
  Content,
  z.object({ type: z.literal('sequence'), elements: z.tuple([Constant, Content]) }),
])

const Call = z.object({ type: z.literal('tag').optional(), ...around, content: Json })

const BareCalls = z.object({
  type: z.literal('tags_with_separator'),
  tags: z.array(Call).min(1),
  separator: z.string(),
  at_least_one: z.literal(true),
  stop_after_first: z.boolean().default(false),
})

const CallsInSection = z.object({ type: z.literal('tag'), ...around, content: BareCalls })

const Calls = z.union([BareCalls, CallsInSection])

const triggered = {
  type: z.literal('triggered_tags'),
  triggers: z.array(z.string()).min(1),
  at_least_one: z.boolean().default(false),
  stop_after_first: z.boolean().default(false),
}

const TriggeredCalls = z.object({ ...triggered, tags: z.array(Call).min(1) })

const TriggeredSection = z.object({ ...triggered, tags: z.tuple([CallsInSection]) })
type TriggeredSection = z.infer<typeof TriggeredSection>

const Triggered = z.union([TriggeredCalls, TriggeredSection])

const AnswerOrCalls = z.object({ type: z.literal('or'), elements: z.tuple([Answer, Calls]) })

const Output = z.union([Answer, Calls, Triggered, AnswerOrCalls])

const BehindThought = z.object({
  type: z.literal('sequence'),
  elements: z.tuple([
    z.object({ type: z.literal('tag'), ...around, content: z.object({ type: z.literal('any_text') }) }),
    z.union([Answer, Calls, AnswerOrCalls]),
  ]),
})
type BehindThought = z.infer<typeof BehindThought>

const StructuralTag = z.object({ format: z.union([Output, BehindThought]) })

function isBehindThought(format: z.infer<typeof Output> | BehindThought): format is BehindThought {
  return format.type === 'sequence' && format.elements[0].type === 'tag'
}

function toOutput(format: z.infer<typeof Output>): OutputConstraint {
  switch (format.type) {
    case 'json_schema':
    case 'regex':
    case 'grammar':
    case 'sequence':
      return { kind: 'text', write: toAnswerWriter(format) }
    case 'tag':
    case 'tags_with_separator':
      return toCalls(format)
    case 'triggered_tags':
      return toTriggered(format)
    case 'or': {
      if (isChoice(format)) return { kind: 'text', write: toContentWriter(format) }
      const [answer, calls] = format.elements
      return { kind: 'tags-or-text', tags: toCalls(calls), write: toAnswerWriter(answer) }
    }
  }
}

function toAnswerWriter(format: z.infer<typeof Answer>): (hints: ValueHints) => string {
  if (format.type !== 'sequence') return toContentWriter(format)
  const [{ value }, content] = format.elements
  const write = toContentWriter(content)
  return (hints) => value + write(hints)
}

function toContentWriter(content: Content): (hints: ValueHints) => string {
  switch (content.type) {
    case 'json_schema':
      return toJsonWriter(content.json_schema)
    case 'regex':
      return toRegexWriter(content.pattern)
    case 'grammar':
      return refuseGrammar()
    case 'or': {
      const { elements } = content
      return ({ variant }) => elements[variant % elements.length]?.value ?? ''
    }
  }
}

function isChoice(
  format: { readonly type: 'or' } & z.infer<typeof Output>,
): format is Content & { type: 'or' } {
  return format.elements.every((element) => element.type === 'const_string')
}

function toCalls(format: z.infer<typeof Calls>): TagsConstraint {
  const { tags, separator, stop_after_first: single } = format.type === 'tag' ? format.content : format
  const section = format.type === 'tag' ? { begin: format.begin, end: format.end } : NO_SECTION
  return { kind: 'tags', section, tags: tags.map(toTag), separator, forced: true, single }
}

function toTriggered(format: z.infer<typeof Triggered>): TagsConstraint {
  const { at_least_one: forced, stop_after_first: single } = format
  if (isSection(format)) return { ...toCalls(format.tags[0]), forced }
  const tags = format.tags.map(toTag)
  return { kind: 'tags', section: NO_SECTION, tags, separator: '\n', forced, single }
}

function isSection(format: z.infer<typeof Triggered>): format is TriggeredSection {
  return format.tags[0]?.content.type === 'tags_with_separator'
}

const NO_SECTION = { begin: '', end: '' }

function toTag({ begin, content, end }: z.infer<typeof Call>): TagsConstraint['tags'][number] {
  return { begin, write: toJsonWriter(content.json_schema), end }
}
