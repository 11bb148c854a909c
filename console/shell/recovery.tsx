import { signal } from '@preact/signals'
import lazy from 'preact-iso/lazy'
import { recovery } from '../api/send.ts'

// Dialogs that let a refused request succeed: sign in again, prove who you are. Requests that wait share one dialog.

const SignInAgain = lazy(() => import('../session/dialogs.tsx').then(({ SignInAgain }) => SignInAgain))
const Proof = lazy(() => import('../session/dialogs.tsx').then(({ Proof }) => Proof))

type Open = { readonly kind: 'sign-in' | 'proof'; readonly end: (isDone: boolean) => void }

const open = signal<Open | null>(null)
let waiting: { kind: Open['kind']; done: Promise<boolean> } | null = null

const ask = async (kind: Open['kind']): Promise<boolean> => {
  while (waiting) {
    const { kind: openKind, done } = waiting
    const isDone = await done
    if (openKind === kind) return isDone
  }
  const { promise, resolve } = Promise.withResolvers<boolean>()
  waiting = { kind, done: promise }
  open.value = { kind, end: resolve }
  const isDone = await promise
  waiting = null
  open.value = null
  return isDone
}

recovery.signIn = () => ask('sign-in')
recovery.prove = () => ask('proof')

export const Recovery = () => {
  const current = open.value
  if (!current) return null
  return current.kind === 'proof' ? <Proof onEnd={current.end} /> : <SignInAgain onEnd={current.end} />
}
