import { DigestServer } from '@trunkline/sip/digest/digest-server.ts'
import { contactsOf, expiresOf, fromOf, type NameAddr, toOf } from '@trunkline/sip/fields.ts'
import { header, type SipRequest } from '@trunkline/sip/message.ts'
import type { ResponseOptions } from '@trunkline/sip/response.ts'
import type { Timers } from '@trunkline/sip/timers.ts'
import type { Flow } from '@trunkline/sip/transport/flow.ts'
import { uriOf, userOf } from '@trunkline/sip/uri.ts'
import type { VoiceCallControl, VoiceRegisterRequest, VoiceUser } from '../../../ports/voice.ts'
import { isBrowser, personKey } from '../gateway-deps.ts'
import { maxRegistrationSeconds, reconnectMs } from '../limits.ts'

/** A registered browser. */
export type Binding = {
  readonly person: VoiceUser
  /** User part of its address. */
  readonly identity: string
  readonly generation: number
  /** URI for calls to the browser. */
  readonly contact: string
  readonly flow: Flow
}

export type RegistrarEvents = {
  /** A user is reachable over another connection than before. Called before the response to REGISTER is sent. */
  arrived(binding: Binding): void
  /** The same device returned over another connection. */
  moved(from: Flow, to: Flow): void
  /** A user is no longer registered, nor expected back. */
  left(person: VoiceUser): void
  /** The connection has lost its registration. */
  dismissed(flow: Flow, why: 'replaced' | 'expired' | 'suspended'): void
}

export type RegistrarSettings = {
  readonly callControl: Pick<VoiceCallControl, 'password' | 'admit' | 'left'>
  readonly realm: string
  /** Key of the HMAC in our nonces. */
  readonly secret: string
  readonly timers: Timers
  /** Unix milliseconds. */
  now(): number
  readonly events: RegistrarEvents
  /** Maximum number of registered users of one account. */
  readonly maxPerAccount: number
}

type StoredBinding = Binding & { stop(): void }

const refusal = (status: number, reason: string): ResponseOptions => ({ status, reason })

export const identityOf = (address: NameAddr): string | null => {
  const uri = uriOf(address.uri)
  return uri && userOf(uri)
}

/** The header that counts a user's devices; null when it is absent or not a number. */
const generationOf = (request: SipRequest): number | null => {
  const value = header(request, 'X-Device-Gen')
  return value !== null && /^\d{1,15}$/.test(value) ? Number(value) : null
}

/**
 * The registrar (RFC 3261, 10): one device for each user, the newest. Digest credentials are ephemeral: the username is
 * `<expiry>:<user>`. Nobody can register as another user.
 */
export class Registrar {
  private readonly settings: RegistrarSettings
  private readonly digest: DigestServer
  private readonly people = new Map<string, StoredBinding>()
  private readonly flows = new Map<string, StoredBinding>()
  /** Registered users, by account. */
  private readonly counts = new Map<string, number>()

  constructor(settings: RegistrarSettings) {
    const { realm, secret, now } = settings
    this.settings = settings
    this.digest = new DigestServer({ realm, secret, now, algorithms: ['MD5'] })
  }

  /** The binding of a connection. */
  bindingOf(flow: Flow): Binding | null {
    return this.flows.get(flow.id) ?? null
  }

  /** The binding of a user; null while the connection is broken. */
  find(person: VoiceUser): Binding | null {
    const found = this.people.get(personKey(person))
    return found?.flow.isOpen ? found : null
  }

  /** True for a registered user, also while a broken connection may return. */
  isExpected(person: VoiceUser): boolean {
    return this.people.has(personKey(person))
  }

  async register(request: SipRequest, flow: Flow): Promise<ResponseOptions> {
    if (!isBrowser(flow)) return refusal(403, 'Registrations come over WebSocket')
    const claim = this.digest.claim(request)
    if (!claim) return this.challenge(false)
    const password = await this.settings.callControl.password(claim.username)
    if (password === null) return refusal(403, 'The credentials are unknown or have ended')
    const verdict = this.digest.verify(request, claim, password)
    if (verdict === 'stale') return this.challenge(true)
    if (verdict === 'bad') return refusal(403, 'The credentials are wrong')
    const owner = claim.username.slice(claim.username.indexOf(':') + 1)
    if (identityOf(fromOf(request)) !== owner || identityOf(toOf(request)) !== owner)
      return refusal(403, 'claims and SIP identity do not match')
    return this.admit(request, flow, { username: claim.username, password, identity: owner })
  }

  /** The connection broke: its device may return. */
  closed(flow: Flow): void {
    const stored = this.flows.get(flow.id)
    if (!stored) return
    stored.stop()
    stored.stop = this.settings.timers.after(reconnectMs, () => this.end(stored, 'expired'))
  }

  drop(person: VoiceUser, why: 'suspended' | 'expired'): void {
    const stored = this.people.get(personKey(person))
    if (!stored) return
    this.end(stored, why)
    this.settings.events.dismissed(stored.flow, why)
  }

  private challenge(stale: boolean): ResponseOptions {
    return {
      status: 401,
      headers: this.digest.challenge(stale).map((value) => ['WWW-Authenticate', value] as const),
    }
  }

  private async admit(
    request: SipRequest,
    flow: Flow,
    claimed: Pick<VoiceRegisterRequest, 'username' | 'password' | 'identity'>,
  ): Promise<ResponseOptions> {
    const { identity } = claimed
    const contacts = contactsOf(request)
    const [contact] = contacts === '*' ? [] : contacts
    const expires = expiresOf(request, contact) ?? maxRegistrationSeconds
    if (contacts === '*' || expires === 0) return this.unregister(flow, identity)
    // A REGISTER without a Contact queries the current binding (10.3, step 8).
    if (!contact) return this.grantedResponse(this.flows.get(flow.id)?.contact ?? null, 0)
    if (contacts.length > 1) return refusal(400, 'One Contact Wanted')
    const { callControl, now } = this.settings
    const admitted = await callControl.admit({ ...claimed, generation: generationOf(request) })
    if ('refused' in admitted) return admitted.refused
    const { account, user, generation, until } = admitted.value
    const seconds = Math.min(expires, maxRegistrationSeconds, Math.floor((until - now()) / 1_000))
    if (seconds <= 0) return refusal(403, 'The credentials have ended')
    return this.bind({ person: { account, user }, identity, generation, contact: contact.uri, flow }, seconds)
  }

  private bind(binding: Binding, seconds: number): ResponseOptions {
    const { flow, generation, person } = binding
    const before = this.people.get(personKey(person))
    const sharing = this.flows.get(flow.id)
    if (before && generation < before.generation) return refusal(403, 'A newer device has registered')
    if (sharing && sharing !== before) return refusal(403, 'One user a connection')
    // The connection broke during the request to call control.
    if (!flow.isOpen) return refusal(480, 'The connection is gone')
    if (!before && (this.counts.get(person.account) ?? 0) >= this.settings.maxPerAccount)
      return { status: 503, reason: 'Too Many Users', headers: [['Retry-After', '60']] }
    if (before) this.supersede(before, binding)
    const stored: StoredBinding = { ...binding, stop: () => {} }
    stored.stop = this.settings.timers.after(seconds * 1_000, () => {
      this.end(stored, 'expired')
      this.settings.events.dismissed(flow, 'expired')
    })
    this.people.set(personKey(person), stored)
    this.counts.set(person.account, (this.counts.get(person.account) ?? 0) + 1)
    this.flows.set(flow.id, stored)
    if (before?.flow.id !== flow.id) this.settings.events.arrived(stored)
    return this.grantedResponse(binding.contact, seconds)
  }

  private supersede(before: StoredBinding, { flow, generation }: Binding): void {
    const { callControl, events } = this.settings
    this.remove(before)
    if (generation > before.generation) callControl.left(before.person, 'replaced')
    if (before.flow.id === flow.id) return
    if (generation === before.generation) events.moved(before.flow, flow)
    else events.dismissed(before.flow, 'replaced')
  }

  private unregister(flow: Flow, identity: string): ResponseOptions {
    const stored = this.flows.get(flow.id)
    if (stored?.identity === identity) this.end(stored, 'requested')
    return { status: 200 }
  }

  private grantedResponse(contact: string | null, seconds: number): ResponseOptions {
    const stored = [...this.flows.values()].find((one) => one.contact === contact)
    return contact === null || !stored
      ? { status: 200 }
      : { status: 200, headers: [['Contact', `<${contact}>;expires=${seconds || 1}`]] }
  }

  private end(stored: StoredBinding, why: 'expired' | 'suspended' | 'requested'): void {
    this.remove(stored)
    this.settings.callControl.left(stored.person, why)
    this.settings.events.left(stored.person)
  }

  private remove(stored: StoredBinding): void {
    stored.stop()
    if (this.people.get(personKey(stored.person)) === stored) {
      this.people.delete(personKey(stored.person))
      const left = (this.counts.get(stored.person.account) ?? 1) - 1
      if (left === 0) this.counts.delete(stored.person.account)
      else this.counts.set(stored.person.account, left)
    }
    if (this.flows.get(stored.flow.id) === stored) this.flows.delete(stored.flow.id)
  }
}
