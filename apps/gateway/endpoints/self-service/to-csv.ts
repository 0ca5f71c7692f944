import type { Activity } from '#libs/account-contract/resources/activity.ts'

/** Returns CSV by RFC 4180. A model's id that begins like a formula is escaped, so that no spreadsheet evaluates it. */
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
