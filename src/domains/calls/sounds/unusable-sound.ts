/** A sound that cannot be converted, and the code of the failure. */
export class UnusableSound extends Error {
  readonly code: 'format' | 'too_large'
  constructor(code: UnusableSound['code'], message: string) {
    super(message)
    this.code = code
  }
}
