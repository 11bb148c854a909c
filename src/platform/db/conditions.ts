import type { Value } from './sql.ts'

/**
 * Builds the conditions of a statement at run time. Only the requested ones are included, so each form has its own
 * plan.
 */
export const makeConditions = () => {
  const values: Value[] = []
  const texts: string[] = []
  const bind = (value: Value): string => `$${values.push(value)}`
  return {
    values,
    texts,
    /** Adds a value. @returns its placeholder */
    bind,
    /** Adds a condition whose values are bound. */
    push: (text: string) => void texts.push(text),
    /** Adds a condition on one value, `?`, unless the value is null. */
    add: (text: string, value: Value | null | undefined) => {
      if (value !== null && value !== undefined) texts.push(text.replaceAll('?', bind(value)))
    },
    get text() {
      return texts.length > 0 ? `where ${texts.join(' and ')}` : ''
    },
  }
}

export type Conditions = ReturnType<typeof makeConditions>
