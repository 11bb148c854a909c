import { useState } from 'preact/hooks'
import { api } from '../api/client.ts'
import { Button } from '../parts/button.tsx'
import { showToast } from '../parts/toast.tsx'
import { words } from '../words/en/calls.ts'
import type { Call } from './call-state.tsx'
import { Party } from './party.tsx'

/** The number that a caller withheld, for operators alone: the audit log records each look at it. */
export const AssertedCaller = ({ call }: { call: Call }) => {
  const [number, setNumber] = useState<string | null>()
  const show = async () => {
    const params = { account_uuid: call.account_uuid, call_uuid: call.uuid }
    try {
      const route = 'GET /operator/accounts/:account_uuid/calls/:call_uuid/asserted-caller'
      setNumber((await api(route, { params })).asserted_number)
    } catch {
      showToast(words.one.assertedFailed)
    }
  }
  if (number === undefined) return <Button onClick={() => void show()}>{words.one.showAsserted}</Button>
  return number === null ? <span class="soft">{words.one.noAsserted}</span> : <Party number={number} />
}
