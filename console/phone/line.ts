import type { Call, Device, VoiceError } from '../../packages/voice-sdk/src/index.ts'
import { api } from '../api/client.ts'
import { audio } from '../shell/audio.ts'
import type { EndedCall, LineState, PhoneCall, PhoneState } from '../shell/phone-state.ts'
import { words } from '../words/en/phone.ts'
import { qualityOf } from './call-quality.ts'
import { readFacts, recordOf } from './facts.ts'
import { outcomeOf } from './outcome.ts'
import type { PhoneCommand } from './protocol.ts'

// The telephone itself, in the one tab that runs it: the device of the voice SDK and its calls.

/** The SDK is served by the installation, and is not a part of the console's files. */
const sdkAddress = '/sdk/voice.mjs'

/** SIP: temporarily unavailable. The caller hears no busy tone. */
const away = 480

/** Milliseconds before a failed registration is repeated. */
const retryAfter = [2_000, 5_000, 15_000] as const

export type LineUser = { readonly account: string; readonly user: string }

type OpenCall = { readonly call: Call; shown: PhoneCall }

const problemOf = (error: unknown): string => {
  const { code, message = '' } = error as Partial<VoiceError>
  if (code === 'MEDIA_DENIED') return words.problems.denied
  if (code === 'MEDIA_FAILED') return words.problems.noMicrophone
  return message || words.problems.unknown
}

/** Facts of a call that the page has read, without those that it has not. */
const knownFacts = ({ uuid, own, name, conversation }: PhoneCall) => ({
  ...(uuid === undefined ? {} : { uuid }),
  ...(own === undefined ? {} : { own }),
  ...(name === undefined ? {} : { name }),
  ...(conversation === undefined ? {} : { conversation }),
})

/** The telephone of a user. */
export class Line {
  readonly #user: LineUser
  readonly #publish: (state: PhoneState) => void
  readonly #calls = new Map<string, OpenCall>()
  readonly #media: { inputDeviceId?: string; outputDeviceId?: string } = {}
  #device: Device | null = null
  #state: PhoneState
  #isClosed = false
  #failures = 0
  #count = 0
  #retry: ReturnType<typeof setTimeout> | undefined

  /**
   * Opens the telephone of a user.
   * @param isAway whether calls are turned away
   * @param publish called with each state
   */
  constructor(user: LineUser, isAway: boolean, publish: (state: PhoneState) => void) {
    this.#user = user
    this.#publish = publish
    this.#state = {
      ...{ account: user.account, line: 'connecting', problem: '' },
      ...{ isAway, calls: [], ended: null },
    }
    void this.#register()
  }

  act(command: PhoneCommand): void {
    if (command.act === 'call') void this.#dial(command.number, command.from)
    else if (command.act === 'keys') this.#sendKeys(command.call, command.keys)
    else if (command.act === 'audio') this.#chooseAudio()
    else if (command.act === 'away') this.#show({ isAway: command.isAway })
    else if (command.act === 'register') void this.#register()
    else if (command.act === 'dismiss') this.#show({ ended: null, problem: '' })
    else void this.#onCall(command.act, command.call).catch(this.#fail)
  }

  isBusy(): boolean {
    return [...this.#calls.values()].some(({ shown }) => shown.direction === 'outbound' || shown.state === 'active')
  }

  close(): void {
    this.#isClosed = true
    clearTimeout(this.#retry)
    this.#device?.destroy()
  }

  #show(change: Partial<PhoneState> = {}): void {
    this.#state = { ...this.#state, ...change, calls: [...this.#calls.values()].map(({ shown }) => shown) }
    if (!this.#isClosed) this.#publish(this.#state)
  }

  #setLine(line: LineState, problem = ''): void {
    this.#show({ line, problem })
  }

  readonly #fail = (error: unknown): void => this.#show({ problem: problemOf(error) })

  #chooseDevices(): void {
    const { microphone, speaker } = audio.value
    if (microphone) this.#media.inputDeviceId = microphone
    else delete this.#media.inputDeviceId
    if (speaker) this.#media.outputDeviceId = speaker
    else delete this.#media.outputDeviceId
  }

  async #mint(): Promise<string> {
    const { account, user } = this.#user
    const body = { user_uuid: user, label: 'console', ttl: 3_600 }
    return (await api('POST /open/sdk/access-token', { body }, { account })).token
  }

  #change(id: string, next: Partial<PhoneCall>): void {
    const call = this.#calls.get(id)
    if (!call) return
    call.shown = { ...call.shown, ...next }
    this.#show()
  }

  async #addFacts(id: string, sipId: string): Promise<void> {
    const call = this.#calls.get(id)
    if (!call) return
    const facts = await readFacts({ ...this.#user, sipId }, call.shown)
    this.#change(id, facts)
    const { ended } = this.#state
    if (ended?.id === id) this.#show({ ended: { ...ended, ...facts } })
  }

  #follow(call: Call): void {
    this.#count += 1
    const id = `${this.#user.user} ${Date.now()} ${this.#count}`
    const { direction } = call
    // The session of JsSIP has the Call-ID at the start of its id.
    const sipId = (call.session as unknown as { readonly id: string }).id
    const record = direction === 'inbound' ? recordOf(sipId) : undefined
    const shown: PhoneCall = {
      ...(record ? { uuid: record } : {}),
      ...{ id, direction, number: call.remoteIdentity, startedAt: Date.now(), keys: '' },
      state: direction === 'inbound' ? 'ringing' : 'dialling',
      ...{ isMuted: false, isHeld: false, isHeldThere: false },
    }
    this.#calls.set(id, { call, shown })
    call.on('ringing', () => this.#change(id, { state: 'ringing' }))
    call.on('accepted', () => this.#change(id, { state: 'active', answeredAt: Date.now() }))
    call.on('mute', ({ muted }) => this.#change(id, { isMuted: muted }))
    call.on('hold', ({ onHold, by }) => this.#change(id, by === 'local' ? { isHeld: onHold } : { isHeldThere: onHold }))
    call.on('quality', (quality) => this.#change(id, { quality: qualityOf(quality) }))
    call.on('error', (error) => error.code.startsWith('MEDIA') && this.#fail(error))
    call.on('disconnect', (end) => {
      const last = this.#calls.get(id)?.shown ?? shown
      this.#calls.delete(id)
      const { number, answeredAt } = last
      const ended: EndedCall = {
        ...{ id, direction, number, outcome: outcomeOf(end, last), detail: end.message },
        ...(answeredAt === undefined ? {} : { seconds: Math.round((Date.now() - answeredAt) / 1_000) }),
        ...knownFacts(last),
      }
      this.#show({ ended })
    })
    this.#show({ ended: null, problem: '' })
    void this.#addFacts(id, sipId)
  }

  async #register(): Promise<void> {
    clearTimeout(this.#retry)
    this.#setLine('connecting')
    try {
      if (!this.#device) {
        // As the types of the package say.
        const sdk: typeof import('../../packages/voice-sdk/src/index.ts') = await import(sdkAddress)
        const token = await this.#mint()
        if (this.#isClosed) return
        this.#chooseDevices()
        this.#device = new sdk.Device({
          ...{ token, media: this.#media, baseUrl: location.origin, allowIncomingWhileBusy: true, logLevel: 'silent' },
        })
        this.#listen(this.#device)
      }
      await this.#device.register()
    } catch (error) {
      if (this.#isClosed) return
      this.#setLine('failed', problemOf(error))
      this.#retry = setTimeout(() => void this.#register(), retryAfter[this.#failures] ?? 30_000)
      this.#failures += 1
    }
  }

  /** Begins again with another token: the old one expired while the computer slept. */
  #renew(): void {
    this.#device?.destroy()
    this.#device = null
    void this.#register()
  }

  #listen(device: Device): void {
    device.on('registered', () => {
      this.#failures = 0
      this.#setLine('ready')
    })
    device.on('reconnecting', () => this.#setLine('reconnecting'))
    device.on('reconnected', () => this.#setLine('ready'))
    device.on('tokenWillExpire', async () => {
      await this.#mint()
        .then((token) => device.updateToken(token))
        .catch(() => {})
    })
    device.on('unregistered', ({ reason }) => {
      if (this.#isClosed || device !== this.#device) return
      if (reason === 'replaced') this.#setLine('elsewhere')
      else if (reason === 'expired') this.#renew()
      else this.#setLine('failed', reason === 'suspended' ? words.problems.suspended : '')
    })
    device.on('incoming', (call) => {
      if (this.#state.isAway) call.reject(away)
      else this.#follow(call)
    })
  }

  async #holdOthers(id: string): Promise<void> {
    const others = [...this.#calls].filter(
      ([other, { shown }]) => other !== id && shown.state === 'active' && !shown.isHeld,
    )
    await Promise.all(others.map(([, { call }]) => call.hold(true).catch(this.#fail)))
  }

  async #dial(number: string, from: string | undefined): Promise<void> {
    if (!this.#device) return
    await this.#holdOthers('')
    try {
      this.#follow(await this.#device.connect({ to: number, ...(from ? { from } : {}) }))
    } catch (error) {
      this.#fail(error)
    }
  }

  async #onCall(act: 'accept' | 'reject' | 'hangUp' | 'mute' | 'hold', id: string): Promise<void> {
    const { call, shown } = this.#calls.get(id) ?? {}
    if (!call || !shown) return
    if (act === 'accept') {
      await this.#holdOthers(id)
      await call.accept()
    } else if (act === 'reject') call.reject()
    else if (act === 'hangUp') call.disconnect()
    else if (act === 'mute') call.mute(!shown.isMuted)
    else {
      if (shown.isHeld) await this.#holdOthers(id)
      await call.hold(!shown.isHeld)
    }
  }

  #sendKeys(id: string, keys: string): void {
    const { call, shown } = this.#calls.get(id) ?? {}
    if (!call || !shown) return
    try {
      call.sendDigits(keys)
      this.#change(id, { keys: (shown.keys + keys).slice(-24) })
    } catch (error) {
      this.#fail(error)
    }
  }

  #chooseAudio(): void {
    this.#chooseDevices()
    const { inputDeviceId, outputDeviceId = '' } = this.#media
    for (const { call, shown } of this.#calls.values()) {
      if (shown.state !== 'active') continue
      if (inputDeviceId) void call.setInputDevice(inputDeviceId).catch(this.#fail)
      void call.setOutputDevice(outputDeviceId).catch(this.#fail)
    }
  }
}
