import type { Services } from '../../../services.ts'
import { challengeMs } from '../limits.ts'
import { refusals } from '../refusals.ts'
import { challengeDigest, isChallenge } from './challenge.ts'
import type { AssertionJson, RegistrationJson } from './passkey-credentials.ts'
import { algorithms, type RelyingParty, relyingPartyOf } from './relying-party.ts'
import * as store from './store.ts'
import { loadWebAuthn } from './webauthn.ts'

type Deps = Pick<Services, 'db' | 'seal' | 'publicUrl'>

/** @throws Problem 403 `passkeys_unavailable` */
export const relyingParty = ({ publicUrl }: Pick<Services, 'publicUrl'>): RelyingParty => {
  const party = relyingPartyOf(publicUrl())
  if (!party) throw refusals.passkeysUnavailable()
  return party
}

/** Verifies a new passkey of a person. @returns null if the answer is not valid, or was given before */
export const verifyRegistration = async (deps: Deps, person: string, response: RegistrationJson) => {
  const { id, origin } = relyingParty(deps)
  const { verifyRegistrationResponse } = await loadWebAuthn()
  let answered = ''
  try {
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response: { ...response, type: 'public-key', clientExtensionResults: {} },
      expectedChallenge: (challenge) => {
        answered = challenge
        return isChallenge(deps.seal, `register ${person}`, challenge)
      },
      expectedOrigin: origin,
      expectedRPID: id,
      requireUserVerification: true,
      supportedAlgorithmIDs: algorithms,
    })
    return verified ? { credential: registrationInfo.credential, digest: challengeDigest(answered) } : null
  } catch {
    // The library throws at each thing that is wrong.
    return null
  }
}

/**
 * Verifies the answer of a passkey, and uses up its challenge.
 * @returns the passkey; null if it is not known, the answer is not valid, or the counter did not grow
 */
export const acceptAssertion = async (deps: Deps, response: AssertionJson): Promise<store.PasskeyRow | null> => {
  const { id, origin } = relyingParty(deps)
  const row = await store.findByCredential(deps.db, Buffer.from(response.id, 'base64url'))
  if (!row) return null
  const { verifyAuthenticationResponse } = await loadWebAuthn()
  let answered = ''
  const check = async () => {
    try {
      const { verified, authenticationInfo } = await verifyAuthenticationResponse({
        response: { ...response, type: 'public-key', clientExtensionResults: {} },
        expectedChallenge: (challenge) => {
          answered = challenge
          return isChallenge(deps.seal, 'enter', challenge)
        },
        expectedOrigin: origin,
        expectedRPID: id,
        credential: { id: response.id, publicKey: new Uint8Array(row.public_key), counter: row.sign_count },
        requireUserVerification: true,
      })
      return verified ? authenticationInfo.newCounter : null
    } catch {
      return null
    }
  }
  const counter = await check()
  if (counter === null) return null
  const isFirst = await deps.db.begin(
    async (tx) =>
      (await store.spendChallenge(tx, challengeDigest(answered), challengeMs)) &&
      (await store.countUse(tx, row.id, counter)),
  )
  return isFirst ? row : null
}
