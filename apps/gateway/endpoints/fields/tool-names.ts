import type { ToolDefinition } from '#libs/contracts/generation-request.ts'
import type { OfferedTool } from './tools.ts'

/** The name of a function in a name space, as the caller knows it. */
export type SpacedName = { readonly namespace: string; readonly name: string }

/** The names of functions in name spaces, by the names under which the model sees them. */
export type SpacedNames = ReadonlyMap<string, SpacedName>

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

export function toSpacedNames(tools: readonly OfferedTool[]): SpacedNames {
  return new Map(
    tools.flatMap(({ definition, spaced }) =>
      definition === null || spaced === undefined ? [] : [[definition.name, spaced] as const],
    ),
  )
}

/**
 * Returns a function that finds tools of `nameTools`. Without a name space, a function in a name space is found by the
 * name that the model sees, or by its own name if only one name space has it.
 */
export function createFindTools(tools: readonly OfferedTool[]): FindTools {
  const named = tools.flatMap(({ definition, spaced }) => {
    if (definition === null) return []
    const own = spaced === undefined ? [] : [spaced, { namespace: spaced.namespace }, { own: spaced.name }]
    return [{ name: definition.name }, ...own].map((wanted) => ({ key: toKey(wanted), definition }))
  })
  const byKey = Map.groupBy(named, ({ key }) => key)
  return ({ namespace, name }) => {
    const owned = namespace === undefined ? byKey.get(toKey({ own: name })) : undefined
    const found = byKey.get(toKey({ namespace, name })) ?? (owned?.length === 1 ? owned : [])
    return found.map(({ definition }) => definition)
  }
}

export const toKey = ({ namespace, name, own }: WantedTool & { readonly own?: string | undefined }): string =>
  JSON.stringify([namespace ?? null, name ?? null, own ?? null])

/** Returns the text by which a model learns from a search that it may call a tool. */
export const toFoundText = (name: string): string => `${name} is available`
