import { BARE_NAMES } from '../syntax/name-rules.ts'
import { toUnquotedText } from '../syntax/write-values.ts'
import type { ToolCallFormat } from '../tool-call-format.ts'

/**
 * Qwen 3 Coder and Qwen 3.5: `<tool_call><function=NAME><parameter=KEY>VALUE</parameter></function></tool_call>` for
 * each call. Values have no quotes and stand on lines of their own.
 */
export const qwen3Coder: ToolCallFormat = {
  example: `<tool_call>
<function=get_weather>
<parameter=city>
Paris
</parameter>
<parameter=days>
3
</parameter>
</function>
</tool_call>
<tool_call>
<function=clock>
</function>
</tool_call>`,
  names: BARE_NAMES,
  read: {
    type: 'text',
    calls: {
      '<function=': {
        type: 'parameters',
        nameEnd: '>',
        keyOpen: '<parameter=',
        keyEnd: '>',
        valueOpen: null,
        valueEnd: '</parameter>',
        close: '</function>',
        ownLines: true,
      },
    },
    section: { open: '<tool_call>', close: '</tool_call>' },
  },
  constrain: null,
  write: (calls) =>
    calls
      .map(({ name, args }) => {
        const parameters = Object.entries(args).map(
          ([key, value]) => `<parameter=${key}>\n${toUnquotedText(value)}\n</parameter>\n`,
        )
        return `<tool_call>\n<function=${name}>\n${parameters.join('')}</function>\n</tool_call>`
      })
      .join('\n'),
}
