import { BARE_NAMES } from '../syntax/name-rules.ts'
import { toUnquotedText } from '../syntax/write-values.ts'
import type { ToolCallFormat } from '../tool-call-format.ts'

/**
 * MiniMax M2: one section of calls. Each call is `<invoke name="NAME"><parameter
 * name="KEY">VALUE</parameter></invoke>`. Values have no quotes.
 */
export const minimaxM2: ToolCallFormat = {
  example: `<minimax:tool_call>
<invoke name="get_weather">
<parameter name="city">Paris</parameter>
<parameter name="days">3</parameter>
</invoke>
<invoke name="clock">
</invoke>
</minimax:tool_call>`,
  names: BARE_NAMES,
  read: {
    type: 'text',
    calls: {
      '<invoke name=': {
        type: 'parameters',
        nameEnd: '>',
        keyOpen: '<parameter name=',
        keyEnd: '>',
        valueOpen: null,
        valueEnd: '</parameter>',
        close: '</invoke>',
        ownLines: false,
      },
    },
    section: { open: '<minimax:tool_call>', close: '</minimax:tool_call>' },
  },
  constrain: null,
  write(calls) {
    const invocations = calls.map(({ name, args }) => {
      const parameters = Object.entries(args).map(
        ([key, value]) => `<parameter name="${key}">${toUnquotedText(value)}</parameter>\n`,
      )
      return `<invoke name="${name}">\n${parameters.join('')}</invoke>\n`
    })
    return `<minimax:tool_call>\n${invocations.join('')}</minimax:tool_call>`
  },
}
