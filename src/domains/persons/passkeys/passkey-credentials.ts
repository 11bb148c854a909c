import { type Static, Type } from 'typebox'

// What PublicKeyCredential.toJSON() of a browser returns (WebAuthn, 5.1). Other fields of it are ignored.

const Base64url = (maxLength: number) => Type.String({ maxLength, pattern: '^[A-Za-z0-9_-]+$', examples: ['AQID'] })

const credential = { id: Base64url(1_400), rawId: Base64url(1_400), type: Type.Literal('public-key') }

/** The answer of a browser to the options of a new passkey. */
export const Registration = Type.Object({
  ...credential,
  response: Type.Object({
    clientDataJSON: Base64url(8_000),
    attestationObject: Base64url(32_000),
    transports: Type.Optional(Type.Array(Type.String({ maxLength: 30 }), { maxItems: 10 })),
  }),
})
export type RegistrationJson = Static<typeof Registration>

/** The answer of a passkey to the options of a sign-in. */
export const Assertion = Type.Object({
  ...credential,
  response: Type.Object({
    clientDataJSON: Base64url(8_000),
    authenticatorData: Base64url(8_000),
    signature: Base64url(4_000),
    userHandle: Type.Optional(Base64url(200)),
  }),
})
export type AssertionJson = Static<typeof Assertion>

/** Options for PublicKeyCredential.parse…OptionsFromJSON() of a browser. */
export const Options = Type.Record(Type.String(), Type.Unknown(), {
  description: 'For PublicKeyCredential.parseCreationOptionsFromJSON or parseRequestOptionsFromJSON of a browser',
})
