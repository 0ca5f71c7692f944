import { z } from 'zod'
import type { Constraint, TagsConstraint } from './constraint.ts'
import { ConstraintError } from './constraint-error.ts'
import { toJsonWriter } from './json-value.ts'

/**
 * Reads the formats of xgrammar's structural tags for which this engine can write a text: JSON alone, tags
 * around JSON, in free text (`triggered_tags`) or alone (`tags_with_separator`), and the choice between such and
 * JSON (`or`). All others are refused as the recorded engine refuses what it does not know. Throws a ConstraintError.
 */
export function fromStructuralTag(given: unknown): Constraint {
  const parsed = StructuralTag.safeParse(given)
  if (!parsed.success) throw new ConstraintError("Invalid grammar specification: 'triggers'")
  const { format } = parsed.data
  if (format.type === 'json_schema') return { kind: 'text', write: toJsonWriter(format.json_schema) }
  if (format.type !== 'or') return toTags(format)
  const [json, tags] = format.elements
  return { kind: 'tags-or-text', tags: toTags(tags), write: toJsonWriter(json.json_schema) }
}

const JsonFormat = z.object({ type: z.literal('json_schema'), json_schema: z.unknown() })

const Tags = z
  .array(
    z.object({ type: z.literal('tag').optional(), begin: z.string(), content: JsonFormat, end: z.string() }),
  )
  .min(1)

const TagsWithSeparator = z.object({
  type: z.literal('tags_with_separator'),
  tags: Tags,
  separator: z.literal('\n'),
  at_least_one: z.literal(true),
  stop_after_first: z.boolean().default(false),
})

const TriggeredTags = z.object({
  type: z.literal('triggered_tags'),
  triggers: z.array(z.string()).min(1),
  tags: Tags,
  at_least_one: z.boolean().default(false),
  stop_after_first: z.boolean().default(false),
})

const JsonOrTags = z.object({ type: z.literal('or'), elements: z.tuple([JsonFormat, TagsWithSeparator]) })

const StructuralTag = z.object({
  format: z.discriminatedUnion('type', [JsonFormat, TagsWithSeparator, TriggeredTags, JsonOrTags]),
})

function toTags(format: z.infer<typeof TagsWithSeparator> | z.infer<typeof TriggeredTags>): TagsConstraint {
  return {
    kind: 'tags',
    tags: format.tags.map(({ begin, content, end }) => ({
      begin,
      write: toJsonWriter(content.json_schema),
      end,
    })),
    forced: format.at_least_one,
    single: format.stop_after_first,
  }
}
