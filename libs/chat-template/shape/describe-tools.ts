import type { ToolDefinition } from '#libs/contracts/generation-request.ts'
import { parseExact } from '#libs/json-schema/exact-json.ts'

/**
 * Returns tools as every template can print them. Some templates (gpt-oss, Hermes, DeepSeek V3.1) concatenate a
 * description, or the default of an enum, with a string. They fail if there is no description, or if the default is not
 * a string. So a missing description becomes empty, and a default that is not a string becomes its JSON text, which is
 * what these templates are made to print.
 */
export function describeTools(tools: readonly ToolDefinition[]): ToolDefinition[] {
  return tools.map((tool) => {
    const { description, parameters, parametersText: text } = tool
    const exact = text === undefined ? null : parseExact(text)
    return {
      ...tool,
      description: description ?? '',
      parameters: parameters === null ? null : describeProperties(parameters),
      ...(isSchema(exact) && { parametersText: JSON.stringify(describeProperties(exact)) }),
    }
  })
}

type Schema = Readonly<Record<string, unknown>>

function describeProperties(schema: Schema): Record<string, unknown> {
  const { properties } = schema
  if (!isSchema(properties)) return { ...schema }
  const described = Object.entries(properties).map(([name, property]) => [
    name,
    isSchema(property) ? describeProperty(property) : property,
  ])
  return { ...schema, properties: Object.fromEntries(described) }
}

function describeProperty(property: Schema): Record<string, unknown> {
  const { description, enum: values, default: value } = property
  const isText = !Array.isArray(values) || value === undefined || typeof value === 'string'
  return {
    ...describeProperties(property),
    description: description ?? '',
    ...(!isText && { default: JSON.stringify(value) }),
  }
}

const isSchema = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
