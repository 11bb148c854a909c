import type { Call, Device, VoiceError } from '../../packages/voice-sdk/src/index.ts'
import { api } from '../api/client.ts'
import { audio } from '../shell/audio.ts'
import type { CallFacts, EndedCall, LineState, PhoneCall, PhoneState } from '../shell/phone-state.ts'
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

export type Line = {
  act(command: PhoneCommand): void
  readonly isBusy: () => boolean
  close(): void
}

const problemOf = (error: unknown): string => {
  const { code, message = '' } = error as Partial<VoiceError>
  if (code === 'MEDIA_DENIED') return words.problems.denied
  if (code === 'MEDIA_FAILED') return words.problems.noMicrophone
  return message || words.problems.unknown
}

/**
 * Opens the telephone of a user.
 * @param isAway whether calls are turned away
 * @param publish called with each state
 */
export const openLine = (who: LineUser, isAway: boolean, publish: (state: PhoneState) => void): Line => {
  const calls = new Map<string, OpenCall>()
  const media: { inputDeviceId?: string; outputDeviceId?: string } = {}
  let device: Device | null = null
  let state: PhoneState = {
    ...{ account: who.account, line: 'connecting', problem: '' },
    ...{ isAway, calls: [], ended: null },
  }
  let isClosed = false
  let failures = 0
  let count = 0
  let retry: ReturnType<typeof setTimeout> | undefined

  const show = (change: Partial<PhoneState> = {}) => {
    state = { ...state, ...change, calls: [...calls.values()].map(({ shown }) => shown) }
    if (!isClosed) publish(state)
  }
  const setLine = (line: LineState, problem = '') => show({ line, problem })
  const fail = (error: unknown) => show({ problem: problemOf(error) })

  const chooseDevices = () => {
    const { microphone, speaker } = audio.value
    if (microphone) media.inputDeviceId = microphone
    else delete media.inputDeviceId
    if (speaker) media.outputDeviceId = speaker
    else delete media.outputDeviceId
  }

  const mint = async (): Promise<string> => {
    const body = { user_uuid: who.user, label: 'console', ttl: 3_600 }
    return (await api('POST /open/sdk/access-token', { body }, { account: who.account })).token
  }

  const change = (id: string, next: Partial<PhoneCall>) => {
    const held = calls.get(id)
    if (!held) return
    held.shown = { ...held.shown, ...next }
    show()
  }

  const addFacts = async (id: string, sipId: string) => {
    const held = calls.get(id)
    if (!held) return
    const facts: CallFacts = await readFacts({ ...who, sipId }, held.shown)
    change(id, facts)
    if (state.ended?.id === id) show({ ended: { ...state.ended, ...facts } })
  }

  const follow = (call: Call) => {
    count += 1
    const id = `${who.user} ${Date.now()} ${count}`
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
    calls.set(id, { call, shown })
    call.on('ringing', () => change(id, { state: 'ringing' }))
    call.on('accepted', () => change(id, { state: 'active', answeredAt: Date.now() }))
    call.on('mute', ({ muted }) => change(id, { isMuted: muted }))
    call.on('hold', ({ onHold, by }) => change(id, by === 'local' ? { isHeld: onHold } : { isHeldThere: onHold }))
    call.on('quality', (quality) => change(id, { quality: qualityOf(quality) }))
    call.on('error', (error) => error.code.startsWith('MEDIA') && fail(error))
    call.on('disconnect', (end) => {
      const last = calls.get(id)?.shown ?? shown
      calls.delete(id)
      const { uuid, own, name, conversation, number, answeredAt } = last
      const ended: EndedCall = {
        ...{ id, direction, number, outcome: outcomeOf(end, last), detail: end.message },
        ...(answeredAt === undefined ? {} : { seconds: Math.round((Date.now() - answeredAt) / 1_000) }),
        ...(uuid === undefined ? {} : { uuid }),
        ...(own === undefined ? {} : { own }),
        ...(name === undefined ? {} : { name }),
        ...(conversation === undefined ? {} : { conversation }),
      }
      show({ ended })
    })
    show({ ended: null, problem: '' })
    void addFacts(id, sipId)
    return id
  }

  const register = async (): Promise<void> => {
    clearTimeout(retry)
    setLine('connecting')
    try {
      if (!device) {
        // As the types of the package say.
        const sdk: typeof import('../../packages/voice-sdk/src/index.ts') = await import(sdkAddress)
        const token = await mint()
        if (isClosed) return
        chooseDevices()
        device = new sdk.Device({
          ...{ token, media, baseUrl: location.origin, allowIncomingWhileBusy: true, logLevel: 'silent' },
        })
        listen(device)
      }
      await device.register()
    } catch (error) {
      if (isClosed) return
      setLine('failed', problemOf(error))
      retry = setTimeout(() => void register(), retryAfter[failures] ?? 30_000)
      failures += 1
    }
  }

  /** Begins again with another token: the old one expired while the computer slept. */
  const renew = () => {
    device?.destroy()
    device = null
    void register()
  }

  const listen = (made: Device) => {
    made.on('registered', () => {
      failures = 0
      setLine('ready')
    })
    made.on('reconnecting', () => setLine('reconnecting'))
    made.on('reconnected', () => setLine('ready'))
    made.on('tokenWillExpire', async () => {
      await mint()
        .then((token) => made.updateToken(token))
        .catch(() => {})
    })
    made.on('unregistered', ({ reason }) => {
      if (isClosed || made !== device) return
      if (reason === 'replaced') setLine('elsewhere')
      else if (reason === 'expired') renew()
      else setLine('failed', reason === 'suspended' ? words.problems.suspended : '')
    })
    made.on('incoming', (call) => {
      if (state.isAway) call.reject(away)
      else follow(call)
    })
  }

  const holdOthers = async (id: string) => {
    const others = [...calls].filter(([other, { shown }]) => other !== id && shown.state === 'active' && !shown.isHeld)
    await Promise.all(others.map(([, { call }]) => call.hold(true).catch(fail)))
  }

  const dial = async (number: string, from: string | undefined) => {
    if (!device) return
    await holdOthers('')
    try {
      follow(await device.connect({ to: number, ...(from ? { from } : {}) }))
    } catch (error) {
      fail(error)
    }
  }

  const onCall = async (act: 'accept' | 'reject' | 'hangUp' | 'mute' | 'hold', id: string) => {
    const held = calls.get(id)
    if (!held) return
    const { call, shown } = held
    if (act === 'accept') {
      await holdOthers(id)
      await call.accept()
    } else if (act === 'reject') call.reject()
    else if (act === 'hangUp') call.disconnect()
    else if (act === 'mute') call.mute(!shown.isMuted)
    else {
      if (shown.isHeld) await holdOthers(id)
      await call.hold(!shown.isHeld)
    }
  }

  const chooseAudio = () => {
    chooseDevices()
    for (const { call, shown } of calls.values()) {
      if (shown.state !== 'active') continue
      if (media.inputDeviceId) void call.setInputDevice(media.inputDeviceId).catch(fail)
      void call.setOutputDevice(media.outputDeviceId ?? '').catch(fail)
    }
  }

  const act = (command: PhoneCommand): void => {
    if (command.act === 'call') void dial(command.number, command.from)
    else if (command.act === 'keys') {
      const held = calls.get(command.call)
      try {
        held?.call.sendDigits(command.keys)
        if (held) change(command.call, { keys: (held.shown.keys + command.keys).slice(-24) })
      } catch (error) {
        fail(error)
      }
    } else if (command.act === 'audio') chooseAudio()
    else if (command.act === 'away') show({ isAway: command.isAway })
    else if (command.act === 'register') void register()
    else if (command.act === 'dismiss') show({ ended: null, problem: '' })
    else void onCall(command.act, command.call).catch(fail)
  }

  void register()
  return {
    act,
    isBusy: () => [...calls.values()].some(({ shown }) => shown.direction === 'outbound' || shown.state === 'active'),
    close: () => {
      isClosed = true
      clearTimeout(retry)
      device?.destroy()
    },
  }
}
