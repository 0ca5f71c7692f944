import type { Activity } from '#libs/account-contract/resources/activity.ts'

/** RFC 4180. A model's id that begins like a formula is kept from being one in a spreadsheet. */
export function toCsv(days: readonly Activity[]): string {
  const head = 'date,model,requests,prompt_tokens,cached_tokens,completion_tokens,usage_nano'
  const lines = days.map((day) =>
    [
      day.date,
      toCell(day.model),
      day.requests,
      day.prompt_tokens,
      day.cached_tokens,
      day.completion_tokens,
      day.nano.usage,
    ].join(','),
  )
  return [head, ...lines, ''].join('\r\n')
}

const toCell = (text: string) => `"${text.replace(/^[=+\-@]/, "'$&").replaceAll('"', '""')}"`
