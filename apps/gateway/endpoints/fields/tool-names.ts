import type { ToolDefinition } from '#libs/contracts/generation-request.ts'
import type { OfferedTool } from './tools.ts'

/** The name of a function in a name space, as the caller knows it. */
export type SpacedName = { readonly namespace: string; readonly name: string }

/** A function that a `tool_choice` names; without `name`, all functions of the name space. */
export type WantedTool = { readonly namespace?: string | undefined; readonly name?: string | undefined }

/** Returns the offered functions that a `tool_choice` names. */
export type FindTools = (wanted: WantedTool) => readonly ToolDefinition[]

/** Returns the name under which a model sees a function of a name space, unless another tool has this name. */
export const toFlatName = ({ namespace, name }: SpacedName): string => `${namespace}__${name}`

/**
 * Returns the tools under the names that the model sees. A model knows no name spaces, so the name of a function begins
 * with the name of its name space. If another tool has this name already, a number is appended.
 */
export function nameTools(tools: readonly OfferedTool[]): OfferedTool[] {
  const taken = new Set(tools.flatMap((tool) => (tool.spaced === undefined ? [tool.definition?.name] : [])))
  return tools.map((tool): OfferedTool => {
    const { definition, spaced } = tool
    if (definition === null || spaced === undefined) return tool
    const flat = toFlatName(spaced)
    let name = flat
    for (let number = 2; taken.has(name); number += 1) name = `${flat}_${number}`
    taken.add(name)
    return { ...tool, definition: { ...definition, name } }
  })
}

/** Returns the names of functions in name spaces, by the names under which the model sees them. */
export function toSpacedNames(tools: readonly OfferedTool[]): Map<string, SpacedName> {
  return new Map(
    tools.flatMap(({ definition, spaced }) =>
      definition === null || spaced === undefined ? [] : [[definition.name, spaced] as const],
    ),
  )
}

/**
 * Returns a function that finds tools of `nameTools`. Without a name space, a function in a name space is found by the
 * name that the model sees, or by its own name if no other function has it.
 */
export function createFindTools(tools: readonly OfferedTool[]): FindTools {
  const byKey = new Map<string, ToolDefinition[]>()
  const add = (wanted: WantedTool, definition: ToolDefinition) => {
    const found = byKey.get(toWantedKey(wanted))
    if (found === undefined) byKey.set(toWantedKey(wanted), [definition])
    else found.push(definition)
  }
  const named = tools.flatMap(({ definition, spaced }) =>
    definition === null ? [] : [{ definition, spaced }],
  )
  for (const { definition, spaced } of named) {
    add({ name: definition.name }, definition)
    if (spaced === undefined) continue
    add(spaced, definition)
    add({ namespace: spaced.namespace }, definition)
  }
  const own = Map.groupBy(named, ({ spaced }) => spaced?.name)
  return (wanted) => {
    const found = byKey.get(toWantedKey(wanted))
    if (found !== undefined || wanted.namespace !== undefined) return found ?? []
    const alike = wanted.name === undefined ? [] : (own.get(wanted.name) ?? [])
    return alike.length === 1 ? alike.map(({ definition }) => definition) : []
  }
}

export const toWantedKey = ({ namespace, name }: WantedTool): string =>
  JSON.stringify([namespace ?? null, name ?? null])

/** Returns the text by which a model learns from a search that it may call a tool. */
export const toFoundText = (name: string): string => `${name} is available`
