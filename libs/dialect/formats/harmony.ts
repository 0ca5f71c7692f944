import { createHarmonyMessages, HARMONY_MARKERS } from '../syntax/harmony-messages.ts'
import { HARMONY_NAMES } from '../syntax/name-rules.ts'
import type { ToolCallFormat } from '../tool-call-format.ts'

/**
 * gpt-oss: the output is a sequence of messages. A call is a message: `<|channel|>commentary to=functions.NAME
 * <|constrain|>json<|message|>ARGUMENTS<|call|>`. The prompt ends with the `<|start|>assistant` of the first message.
 */
export const harmony: ToolCallFormat = {
  example:
    '<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{"city": "Paris", "days": 3}<|call|>' +
    '<|start|>assistant<|channel|>commentary to=functions.clock <|constrain|>json<|message|>{}<|call|>',
  names: HARMONY_NAMES,
  read: { type: 'messages', markers: HARMONY_MARKERS, open: createHarmonyMessages },
  constrain: {
    begin: (name) =>
      `<|start|>assistant<|channel|>commentary to=functions.${name} <|constrain|>json<|message|>`,
    end: '<|call|>',
    separator: '',
    messages: {
      thinking: { begin: '<|channel|>analysis<|message|>', end: '<|end|>' },
      answerHeader: '<|start|>assistant<|channel|>final <|constrain|>json<|message|>',
    },
  },
  write: (calls) =>
    calls
      .map(
        ({ name, json }) =>
          `<|channel|>commentary to=functions.${name} <|constrain|>json<|message|>${json}<|call|>`,
      )
      .join('<|start|>assistant'),
}
