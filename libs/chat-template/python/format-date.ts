const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
]

const two = (value: number): string => String(value).padStart(2, '0')

const FIELDS: Readonly<Record<string, (date: Date) => string>> = {
  Y: (date) => String(date.getFullYear()),
  y: (date) => two(date.getFullYear() % 100),
  m: (date) => two(date.getMonth() + 1),
  B: (date) => MONTHS[date.getMonth()] ?? '',
  b: (date) => (MONTHS[date.getMonth()] ?? '').slice(0, 3),
  d: (date) => two(date.getDate()),
  A: (date) => DAYS[date.getDay()] ?? '',
  a: (date) => (DAYS[date.getDay()] ?? '').slice(0, 3),
  H: (date) => two(date.getHours()),
  I: (date) => two(date.getHours() % 12 || 12),
  p: (date) => (date.getHours() < 12 ? 'AM' : 'PM'),
  M: (date) => two(date.getMinutes()),
  S: (date) => two(date.getSeconds()),
  '%': () => '%',
}

/**
 * Returns a date as Python's `strftime` does, in English and local time. Throws for a directive that is not in
 * `FIELDS`.
 */
export function formatDate(date: Date, format: string): string {
  return format.replaceAll(/%(.)/gsu, (whole, name: string) => {
    const field = FIELDS[name]
    if (field === undefined) throw new Error(`the date field ${whole} is not supported`)
    return field(date)
  })
}
