import { BARE_NAMES } from '../syntax/name-rules.ts'
import { toUnquotedText } from '../syntax/write-values.ts'
import type { ToolCallFormat } from '../tool-call-format.ts'

/**
 * DeepSeek V3.2: one section of calls. Each call is `<｜DSML｜invoke name="NAME">` with a `<｜DSML｜parameter name="KEY"
 * string="true">VALUE` for each argument. Values have no quotes; the attribute `string` says whether a value is a
 * string.
 */
export const deepseekV32: ToolCallFormat = {
  example: `<｜DSML｜function_calls>
<｜DSML｜invoke name="get_weather">
<｜DSML｜parameter name="city" string="true">Paris</｜DSML｜parameter>
<｜DSML｜parameter name="days" string="false">3</｜DSML｜parameter>
</｜DSML｜invoke>
<｜DSML｜invoke name="clock">
</｜DSML｜invoke>
</｜DSML｜function_calls>`,
  names: BARE_NAMES,
  read: {
    type: 'text',
    calls: {
      '<｜DSML｜invoke name=': {
        type: 'parameters',
        nameEnd: '>',
        keyOpen: '<｜DSML｜parameter name=',
        keyEnd: '>',
        valueOpen: null,
        valueEnd: '</｜DSML｜parameter>',
        close: '</｜DSML｜invoke>',
        ownLines: false,
      },
    },
    section: { open: '<｜DSML｜function_calls>', close: '</｜DSML｜function_calls>' },
  },
  constrain: null,
  write(calls) {
    const invocations = calls.map(({ name, args }) => {
      const parameters = Object.entries(args).map(
        ([key, value]) =>
          `<｜DSML｜parameter name="${key}" string="${typeof value === 'string'}">${toUnquotedText(value)}</｜DSML｜parameter>\n`,
      )
      return `<｜DSML｜invoke name="${name}">\n${parameters.join('')}</｜DSML｜invoke>\n`
    })
    return `<｜DSML｜function_calls>\n${invocations.join('')}</｜DSML｜function_calls>`
  },
}
