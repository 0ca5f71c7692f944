import { describe, expect, it } from 'vitest'
import { createNumberKeeper, toPythonJson } from '#libs/chat-template/python/number-keeper.ts'
import { PYTHON_NUMBERS } from '#test/support/python-numbers.ts'

function print(json: string): string {
  const numbers = createNumberKeeper()
  return numbers.restore(toPythonJson(JSON.stringify(numbers.parse(json))))
}

describe('a number is printed as Python prints it', () => {
  it.each(PYTHON_NUMBERS)('%s: %s', (written, python) => {
    expect(print(`{"a":[${written}]}`)).toBe(`{"a":[${python}]}`)
  })
})

it('names of digits keep their place', () => {
  expect(print('{"b":1,"2":{"10":2,"9":3},"1":"2"}')).toBe('{"b":1,"2":{"10":2,"9":3},"1":"2"}')
})
