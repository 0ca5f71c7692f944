import { z } from 'zod'
import { optional } from '../../http/parse-body.ts'
import { TEXT } from '../fields/field-texts.ts'
import { listJson, ObjectJson, toExactJson } from '../fields/exact-texts.ts'
import { ShortText } from '../fields/short-text.ts'

/**
 * Schemas for items of tools that this service does not run. Histories from other services and from Codex contain such
 * items. A call is read as a function call with the same content, and a result as the result of that call. An item is
 * ignored if no model of this service could read it, or if the text of the conversation repeats its content.
 * `docs/api.md` has the list of all these items. `Content` is the schema of a result's content.
 */
export function createOtherItems(Content: z.ZodType<string>) {
  const CustomCallOutput = z
    .object({ type: z.literal('custom_tool_call_output'), call_id: ShortText, output: Content })
    .transform(({ call_id, output }) => result(call_id, output))

  const LocalShellCallOutput = z
    .object({
      type: z.literal('local_shell_call_output'),
      id: optional(ShortText),
      call_id: optional(ShortText),
      output: Content,
    })
    .transform(({ id = '', call_id = id, output }) => result(call_id, output))

  return [
    CustomCall,
    ToolSearchCall,
    CustomCallOutput,
    LocalShellCall,
    LocalShellCallOutput,
    ShellCall,
    ShellCallOutput,
    ApplyPatchCall,
    ApplyPatchCallOutput,
    McpCall,
    FileSearchCall,
    CodeInterpreterCall,
    IgnoredItem,
  ] as const
}

type Call = {
  type: 'function_call'
  call_id: string
  name: string
  namespace?: string | undefined
  arguments: string
}

const call = (call_id: string, name: string, args: string): Call => ({
  type: 'function_call',
  call_id,
  name,
  arguments: args,
})

const result = (call_id: string, output: string) => ({
  type: 'function_call_output' as const,
  call_id,
  output,
})

/** A call that another service has run, together with its result in one item. */
const answered = (called: ReturnType<typeof call>, output: string) => ({
  ...called,
  type: 'answered_call' as const,
  output,
})

const ignored = () => ({ type: 'ignored' as const })

const CustomCall = z
  .object({
    type: z.literal('custom_tool_call'),
    call_id: ShortText,
    name: ShortText,
    namespace: optional(ShortText),
    input: z.string(TEXT),
  })
  .transform(({ call_id, name, namespace, input }) => ({
    ...call(call_id, name, JSON.stringify({ input })),
    namespace,
  }))

/** A search that another service has run has no `call_id`. */
const ToolSearchCall = z
  .object({
    type: z.literal('tool_search_call'),
    call_id: optional(ShortText),
    arguments: optional(ObjectJson),
  })
  .transform(({ call_id = '', arguments: args = '{}' }) => call(call_id, 'tool_search', args))

const LocalShellCall = z
  .object({ type: z.literal('local_shell_call'), call_id: ShortText, action: ObjectJson })
  .transform(({ call_id, action }) => call(call_id, 'local_shell', action))

const ShellCall = z
  .object({ type: z.literal('shell_call'), call_id: ShortText, action: ObjectJson })
  .transform(({ call_id, action }) => call(call_id, 'shell', action))

const OUTPUTS = 'expected an array of outputs'
const NONE = '[]'

/** Each output has several fields, so the result is the JSON of the outputs. */
const ShellCallOutput = z
  .object({
    type: z.literal('shell_call_output'),
    call_id: ShortText,
    output: listJson(OUTPUTS),
  })
  .transform(({ call_id, output }) => result(call_id, output))

const ApplyPatchCall = z
  .object({ type: z.literal('apply_patch_call'), call_id: ShortText, operation: ObjectJson })
  .transform(({ call_id, operation }) => call(call_id, 'apply_patch', operation))

const ApplyPatchCallOutput = z
  .object({
    type: z.literal('apply_patch_call_output'),
    call_id: ShortText,
    status: optional(ShortText),
    output: optional(z.string(TEXT)),
  })
  .transform(({ call_id, status = '', output = '' }) =>
    result(call_id, status === '' || output === '' ? status + output : `${status}\n${output}`),
  )

const McpCall = z
  .object({
    type: z.literal('mcp_call'),
    id: optional(ShortText),
    name: ShortText,
    arguments: optional(z.string(TEXT)),
    output: optional(z.string(TEXT)),
    error: optional(z.unknown()),
  })
  .transform(({ id = '', name, arguments: args = '', output = '', error }) =>
    answered(call(id, name, args), output + (error === undefined ? '' : toText(error))),
  )

/** A call without results is ignored, because the text that follows it contains what the search found. */
const FileSearchCall = z
  .object({
    type: z.literal('file_search_call'),
    id: optional(ShortText),
    queries: optional(listJson('expected an array of queries')),
    results: optional(listJson('expected an array of results')),
  })
  .transform(({ id = '', queries = NONE, results = NONE }) =>
    results === NONE ? ignored() : answered(call(id, 'file_search', `{"queries":${queries}}`), results),
  )

const CodeInterpreterCall = z
  .object({
    type: z.literal('code_interpreter_call'),
    id: optional(ShortText),
    code: optional(z.string(TEXT)),
    outputs: optional(listJson(OUTPUTS)),
  })
  .transform(({ id = '', code = '', outputs = NONE }) =>
    answered(call(id, 'code_interpreter', JSON.stringify({ code })), outputs === NONE ? '' : outputs),
  )

const IgnoredItem = z
  .object({
    type: z.enum([
      'web_search_call',
      'image_generation_call',
      'mcp_list_tools',
      'mcp_approval_request',
      'mcp_approval_response',
    ]),
  })
  .transform(ignored)

const toText = (value: unknown): string => (typeof value === 'string' ? value : toExactJson(value))
