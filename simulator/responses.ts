/** Response of the control interface. */
export type ControlResponse = { status: number; body: unknown }
export type Body = Record<string, unknown>

export const badRequest = (error: string): ControlResponse => ({ status: 400, body: { error } })
export const notFound: ControlResponse = { status: 404, body: { error: 'no such thing' } }

/** E.164 with `+`, from a number with or without it; null for an invalid one. */
export const numberOf = (text: unknown): string | null => {
  const digits = typeof text === 'string' ? /^\+?([1-9]\d{2,14})$/.exec(text)?.[1] : undefined
  return digits ? `+${digits}` : null
}
