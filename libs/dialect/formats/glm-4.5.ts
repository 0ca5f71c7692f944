import { BARE_NAMES } from '../syntax/name-rules.ts'
import { toUnquotedText } from '../syntax/write-values.ts'
import type { ToolCallFormat } from '../tool-call-format.ts'

/**
 * GLM 4.5 to 4.7: `<tool_call>NAME<arg_key>KEY</arg_key><arg_value>VALUE</arg_value></tool_call>` for each call. Values
 * have no quotes.
 */
export const glm45: ToolCallFormat = {
  example: `<tool_call>get_weather
<arg_key>city</arg_key>
<arg_value>Paris</arg_value>
<arg_key>days</arg_key>
<arg_value>3</arg_value>
</tool_call>
<tool_call>clock
</tool_call>`,
  names: BARE_NAMES,
  read: {
    type: 'text',
    calls: {
      '<tool_call>': {
        type: 'parameters',
        nameEnd: null,
        keyOpen: '<arg_key>',
        keyEnd: '</arg_key>',
        valueOpen: '<arg_value>',
        valueEnd: '</arg_value>',
        close: '</tool_call>',
        ownLines: false,
      },
    },
  },
  constrain: null,
  write: (calls) =>
    calls
      .map(({ name, args }) => {
        const parameters = Object.entries(args).map(
          ([key, value]) => `<arg_key>${key}</arg_key>\n<arg_value>${toUnquotedText(value)}</arg_value>\n`,
        )
        return `<tool_call>${name}\n${parameters.join('')}</tool_call>`
      })
      .join('\n'),
}
