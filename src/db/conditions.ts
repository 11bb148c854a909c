import type { Value } from './sql.ts'

/** Conditions of a statement built at run time. Only those asked for are in it, so each form has its own plan. */
export const makeConditions = () => {
  const values: Value[] = []
  const texts: string[] = []
  const bind = (value: Value): string => `$${values.push(value)}`
  return {
    values,
    /** Adds a value. @returns its placeholder */
    bind,
    /** Adds a condition whose values are bound. */
    push: (text: string) => void texts.push(text),
    /** Adds a condition on one value, `?`, unless there is none. */
    add: (text: string, value: Value | null | undefined) => {
      if (value !== null && value !== undefined) texts.push(text.replaceAll('?', bind(value)))
    },
    get text() {
      return texts.length > 0 ? `where ${texts.join(' and ')}` : ''
    },
  }
}
