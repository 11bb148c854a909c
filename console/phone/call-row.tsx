import { useEffect, useState } from 'preact/hooks'
import { Button, ButtonLink } from '../parts/button.tsx'
import { Icon } from '../parts/icon.tsx'
import { paths } from '../paths.ts'
import { isOfAccount, phone } from '../shell/phone.ts'
import type { CallQuality, PhoneCall } from '../shell/phone-state.ts'
import { words } from '../words/en/phone.ts'
import { phoneNumber, stopwatch } from '../words/format.ts'
import { Keypad } from './keypad.tsx'
import { askMicrophone } from './microphone.ts'
import { nameOf, numberOf } from './names.ts'
import { NoteForm } from './note.tsx'
import { act } from './tab-lock.ts'

/** Seconds since a time, as a clock that runs. */
const Timer = ({ since }: { since: number }) => {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 500)
    return () => clearInterval(timer)
  }, [])
  return (
    <span class="phone-timer tabular" role="timer" aria-label={words.duration}>
      {stopwatch((now - since) / 1_000)}
    </span>
  )
}

const levels = [1, 2, 3, 4] as const

/** Four bars, with the cause in words when they are few. */
export const QualityBars = ({ quality: { bars, cause } }: { quality: CallQuality }) => {
  const reason = words.quality[cause]
  return (
    <span class={`phone-quality bars-${bars}`} role="img" aria-label={words.quality.label(bars, reason)}>
      <span class="phone-bars">
        {levels.map((level) => (
          <i key={level} class={level <= bars ? 'is-on' : ''} />
        ))}
      </span>
      {reason && <span class="phone-cause">{reason}</span>}
    </span>
  )
}

const stateOf = ({ state, direction, isHeld, isHeldThere }: PhoneCall): string => {
  if (state === 'dialling') return words.states.dialling
  if (state === 'ringing') return direction === 'inbound' ? words.states.ringingHere : words.states.ringingThere
  return isHeld ? words.states.held : isHeldThere ? words.states.heldThere : words.states.active
}

const Who = ({ call }: { call: PhoneCall }) => {
  const number = numberOf(call)
  const { lastText } = call
  return (
    <div class="phone-who">
      <span class="phone-state">{stateOf(call)}</span>
      <strong class="cut" dir="auto">
        {nameOf(call)}
      </strong>
      <span class="phone-facts">
        {call.name && number && <bdi dir="ltr">{number}</bdi>}
        {call.own && <span>{words.on(phoneNumber(call.own))}</span>}
        {call.state === 'ringing' && lastText && (
          <span class="cut" dir="auto">
            {(lastText.isOurs ? words.ourLastText : words.lastText)(lastText.text)}
          </span>
        )}
      </span>
    </div>
  )
}

const Incoming = ({ call, isSecond }: { call: PhoneCall; isSecond: boolean }) => {
  const [isAsking, setAsking] = useState(false)
  const accept = async () => {
    setAsking(true)
    const fault = await askMicrophone()
    setAsking(false)
    if (fault) phone.value = { ...phone.value, problem: fault }
    else act({ act: 'accept', call: call.id })
  }
  return (
    <div class="phone-acts">
      <Button kind="danger" icon="phone-off" shortcut="Alt+X" onClick={() => act({ act: 'reject', call: call.id })}>
        {words.reject}
      </Button>
      <Button kind="primary" icon="phone" shortcut="Alt+A" busy={isAsking} onClick={() => void accept()}>
        {isSecond ? words.holdAndAccept : words.accept}
      </Button>
    </div>
  )
}

type OpenPane = 'keypad' | 'note' | null

const Active = ({ call, pane, setPane }: { call: PhoneCall; pane: OpenPane; setPane: (pane: OpenPane) => void }) => {
  const { id, isMuted, isHeld, state } = call
  const isActive = state === 'active'
  const isOfPage = isOfAccount()
  const toggle = (name: 'keypad' | 'note') => () => setPane(pane === name ? null : name)
  return (
    <div class="phone-acts">
      {isActive && (
        <>
          {isOfPage && call.conversation && (
            <ButtonLink icon="message-square" href={paths.inbox({ view: 'all', conversation: call.conversation })}>
              {words.conversation}
            </ButtonLink>
          )}
          <Button
            icon={isMuted ? 'mic-off' : 'mic'}
            pressed={isMuted}
            shortcut="Alt+M"
            onClick={() => act({ act: 'mute', call: id })}
          >
            {isMuted ? words.unmute : words.mute}
          </Button>
          <Button
            icon={isHeld ? 'play' : 'pause'}
            pressed={isHeld}
            shortcut="Alt+H"
            onClick={() => act({ act: 'hold', call: id })}
          >
            {isHeld ? words.resume : words.hold}
          </Button>
          <Button icon="grid-3x3" expanded={pane === 'keypad'} onClick={toggle('keypad')}>
            {words.keypad}
          </Button>
          {isOfPage && (
            <Button icon="pencil" expanded={pane === 'note'} onClick={toggle('note')}>
              {words.notes}
            </Button>
          )}
        </>
      )}
      <Button kind="danger" icon="phone-off" shortcut="Alt+X" onClick={() => act({ act: 'hangUp', call: id })}>
        {words.hangUp}
      </Button>
    </div>
  )
}

/** One call: who, how long, how it sounds, and what can be done. */
export const CallRow = ({ call, isSecond }: { call: PhoneCall; isSecond: boolean }) => {
  const [pane, setPane] = useState<OpenPane>(null)
  const isIncoming = call.state === 'ringing' && call.direction === 'inbound'
  return (
    <div class={isIncoming ? 'phone-row is-ringing' : 'phone-row'}>
      <div class="phone-line">
        <span class="phone-sign">
          <Icon name={call.direction === 'inbound' ? 'phone-incoming' : 'phone-outgoing'} />
        </span>
        <Who call={call} />
        {call.answeredAt !== undefined && <Timer since={call.answeredAt} />}
        {call.quality && !call.isHeld && <QualityBars quality={call.quality} />}
        {isIncoming ? (
          <Incoming call={call} isSecond={isSecond} />
        ) : (
          <Active call={call} pane={pane} setPane={setPane} />
        )}
      </div>
      {pane === 'keypad' && (
        <div class="phone-pane">
          <Keypad onKey={(keys) => act({ act: 'keys', call: call.id, keys })} takesKeys />
          <p class="phone-keys tabular" role="status">
            {call.keys && words.keys(call.keys)}
          </p>
        </div>
      )}
      {pane === 'note' && isOfAccount() && (
        <div class="phone-pane">
          <NoteForm call={call} onSaved={() => setPane(null)} />
        </div>
      )}
    </div>
  )
}
