import { BARE_NAMES } from '../syntax/name-rules.ts'
import type { ToolCallFormat } from '../tool-call-format.ts'

/**
 * DeepSeek V3 and R1: one section of calls. Each call is `<｜tool▁call▁begin｜>function<｜tool▁sep｜>NAME`, a line break, a
 * Markdown fence with the arguments, and `<｜tool▁call▁end｜>`.
 */
export const deepseekV3: ToolCallFormat = {
  example: `<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather
\`\`\`json
{"city": "Paris", "days": 3}
\`\`\`<｜tool▁call▁end｜>
<｜tool▁call▁begin｜>function<｜tool▁sep｜>clock
\`\`\`json
{}
\`\`\`<｜tool▁call▁end｜><｜tool▁calls▁end｜>`,
  names: BARE_NAMES,
  read: {
    type: 'text',
    calls: {
      '<｜tool▁call▁begin｜>': {
        type: 'named',
        prefix: 'function<｜tool▁sep｜>',
        nameEnd: '\n',
        close: '<｜tool▁call▁end｜>',
      },
    },
    section: { open: '<｜tool▁calls▁begin｜>', close: '<｜tool▁calls▁end｜>' },
    control: { leftovers: ['<｜tool▁sep｜>', '<｜tool▁call▁end｜>'] },
  },
  constrain: {
    trigger: '<｜tool▁calls▁begin｜>',
    section: { begin: '<｜tool▁calls▁begin｜>', end: '<｜tool▁calls▁end｜>' },
    begin: (name) => `<｜tool▁call▁begin｜>function<｜tool▁sep｜>${name}\n\`\`\`json\n`,
    end: '\n```<｜tool▁call▁end｜>',
    separator: '\n',
  },
  write(calls) {
    const written = calls.map(
      ({ name, json }) =>
        `<｜tool▁call▁begin｜>function<｜tool▁sep｜>${name}\n\`\`\`json\n${json}\n\`\`\`<｜tool▁call▁end｜>`,
    )
    return `<｜tool▁calls▁begin｜>${written.join('\n')}<｜tool▁calls▁end｜>`
  },
}
