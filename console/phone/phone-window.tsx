import { useEffect, useState } from 'preact/hooks'
import { dialRequest, phone, phoneBarrier } from '../shell/phone.ts'
import type { PhoneCall } from '../shell/phone-state.ts'
import { useShortcuts } from '../shell/shell-keys.ts'
import { words } from '../words/en/phone.ts'
import { words as shell } from '../words/en/shell.ts'
import { phoneNumber } from '../words/format.ts'
import { CallRow } from './call-row.tsx'
import { DialDialog } from './dial.tsx'
import { Ended } from './ended.tsx'
import { askMicrophone } from './microphone.ts'
import { nameOf } from './names.ts'
import { ProblemRow } from './problem.tsx'
import { useRingingTitle } from './ringing-title.ts'
import { act, joinTabs } from './tab-lock.ts'

/** The call that the keys mean: the one that rings, else the one in progress, else a held one. */
const currentOf = (calls: readonly PhoneCall[]): PhoneCall | undefined =>
  calls.find(({ state, isHeld }) => state === 'active' && !isHeld) ??
  calls.find(({ state }) => state !== 'active') ??
  calls[0]

const ringingOf = (calls: readonly PhoneCall[]): PhoneCall | undefined =>
  calls.find(({ state, direction }) => state === 'ringing' && direction === 'inbound')

const Announcement = ({ ringing }: { ringing: PhoneCall | undefined }) => (
  <span class="for-readers" role="alert">
    {ringing ? words.announce.incoming(nameOf(ringing), ringing.own ? phoneNumber(ringing.own) : '') : ''}
  </span>
)

const Bar = () => {
  const { calls, ended, problem, line } = phone.value
  const isEmpty = calls.length === 0 && !ended && (!problem || line === 'failed')
  return (
    <section class={isEmpty ? 'phone is-empty' : 'phone'} aria-label={words.title}>
      <Announcement ringing={ringingOf(calls)} />
      {problem && line !== 'failed' && <ProblemRow text={problem} />}
      {calls.map((call) => (
        <CallRow
          key={call.id}
          call={call}
          isSecond={calls.some(({ id, state }) => id !== call.id && state === 'active')}
        />
      ))}
      {ended && calls.length === 0 && <Ended key={ended.id} ended={ended} />}
    </section>
  )
}

/** The telephone in the frame: takes part in the tabs, and shows calls at the foot of every page. */
export const Phone = () => {
  const barrier = phoneBarrier()
  const [problem, setProblem] = useState('')
  useEffect(() => {
    if (barrier === null) joinTabs()
  }, [barrier])
  const { calls } = phone.value
  useRingingTitle(ringingOf(calls))
  const onCurrent = (run: (call: PhoneCall) => void) => () => {
    const call = currentOf(phone.value.calls)
    if (call) run(call)
  }
  const accept = async () => {
    const call = ringingOf(phone.value.calls)
    if (!call) return
    const fault = await askMicrophone()
    setProblem(fault ?? '')
    if (!fault) act({ act: 'accept', call: call.id })
  }
  useShortcuts([
    { keys: 'Alt a', text: () => shell.keys.accept, act: () => void accept(), scope: 'everywhere' },
    {
      keys: 'Alt h',
      text: () => shell.keys.hold,
      act: onCurrent((call) => act({ act: 'hold', call: call.id })),
      scope: 'everywhere',
    },
    {
      keys: 'Alt m',
      text: () => shell.keys.mute,
      act: onCurrent((call) => act({ act: 'mute', call: call.id })),
      scope: 'everywhere',
    },
    {
      keys: 'Alt x',
      text: () => shell.keys.hangUp,
      act: onCurrent((call) => {
        const isIncoming = call.state === 'ringing' && call.direction === 'inbound'
        act({ act: isIncoming ? 'reject' : 'hangUp', call: call.id })
      }),
      scope: 'everywhere',
    },
  ])
  return (
    <>
      {(barrier === null || calls.length > 0) && <Bar />}
      {problem && calls.length > 0 && <ProblemRow text={problem} />}
      {dialRequest.value && <DialDialog request={dialRequest.value} barrier={barrier} />}
    </>
  )
}
