/** A document that is not accepted, by Twilio's code: 11750 is too long, 12100 is not XML, 12200 violates the schema. */
export class TwimlError extends Error {
  readonly code: 11750 | 12100 | 12200 | 12300
  constructor(code: TwimlError['code'], message: string) {
    super(message)
    this.code = code
  }
}
