import { BARE_NAMES } from '../syntax/name-rules.ts'
import type { ToolCallFormat } from '../tool-call-format.ts'

/**
 * DeepSeek V3.1: one section of calls. Each call is `<｜tool▁call▁begin｜>NAME<｜tool▁sep｜>ARGUMENTS<｜tool▁call▁end｜>`.
 */
export const deepseekV31: ToolCallFormat = {
  example:
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{"city": "Paris", "days": 3}<｜tool▁call▁end｜>' +
    '<｜tool▁call▁begin｜>clock<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
  names: BARE_NAMES,
  read: {
    type: 'text',
    calls: {
      '<｜tool▁call▁begin｜>': { type: 'named', nameEnd: '<｜tool▁sep｜>', close: '<｜tool▁call▁end｜>' },
    },
    section: { open: '<｜tool▁calls▁begin｜>', close: '<｜tool▁calls▁end｜>' },
    control: { leftovers: ['<｜tool▁sep｜>', '<｜tool▁call▁end｜>'] },
  },
  constrain: {
    trigger: '<｜tool▁calls▁begin｜>',
    section: { begin: '<｜tool▁calls▁begin｜>', end: '<｜tool▁calls▁end｜>' },
    begin: (name) => `<｜tool▁call▁begin｜>${name}<｜tool▁sep｜>`,
    end: '<｜tool▁call▁end｜>',
    separator: '',
  },
  write(calls) {
    const written = calls.map(
      ({ name, json }) => `<｜tool▁call▁begin｜>${name}<｜tool▁sep｜>${json}<｜tool▁call▁end｜>`,
    )
    return `<｜tool▁calls▁begin｜>${written.join('')}<｜tool▁calls▁end｜>`
  },
}
