import { api } from './client.ts'
import { otherAddress } from './public-address.ts'

// Passkeys by the browser's own functions for JSON (WebAuthn, level 3). The types of the DOM library name the options.

/** True where this browser and this address permit passkeys: the public one, HTTPS or localhost, and a name. */
export const canUsePasskeys = (): boolean =>
  isSecureContext &&
  otherAddress() === null &&
  typeof PublicKeyCredential === 'function' &&
  'parseRequestOptionsFromJSON' in PublicKeyCredential &&
  !/^[\d.]+$|^\[/.test(location.hostname)

const json = (credential: Credential | null): object | null =>
  credential instanceof PublicKeyCredential ? credential.toJSON() : null

/** Null: the person closed the dialog of the browser. */
const orNull = async (credential: Promise<Credential | null>): Promise<object | null> => {
  try {
    return json(await credential)
  } catch (error) {
    if (error instanceof DOMException && ['NotAllowedError', 'AbortError'].includes(error.name)) return null
    throw error
  }
}

/** Lets the browser answer the options of a sign-in or proof. */
export const askForPasskey = async (): Promise<object | null> => {
  const { options } = await api('POST /console/session/passkey/options', {})
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON(
    options as unknown as PublicKeyCredentialRequestOptionsJSON,
  )
  return orNull(navigator.credentials.get({ publicKey }))
}

/** Lets the browser create a passkey. */
export const createPasskey = (options: object): Promise<object | null> => {
  const publicKey = PublicKeyCredential.parseCreationOptionsFromJSON(options as PublicKeyCredentialCreationOptionsJSON)
  return orNull(navigator.credentials.create({ publicKey }))
}
