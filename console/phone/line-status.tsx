import { useEffect, useState } from 'preact/hooks'
import { Button } from '../parts/button.tsx'
import { Status, type Tone } from '../parts/status.tsx'
import { phone } from '../shell/phone.ts'
import type { LineState } from '../shell/phone-state.ts'
import { words } from '../words/en/phone.ts'
import { hasNetworkAddress } from './network-address.ts'
import { act } from './tab-lock.ts'

const tones: Readonly<Record<LineState, Tone>> = {
  off: 'neutral',
  connecting: 'info',
  ready: 'good',
  reconnecting: 'notice',
  elsewhere: 'notice',
  failed: 'bad',
}

/** Whether calls can be made and ring here, and the way to make it so. */
export const LineStatus = () => {
  const { line, problem } = phone.value
  const [isSilent, setSilent] = useState(false)
  useEffect(() => {
    if (line === 'ready') void hasNetworkAddress().then((isFound) => setSilent(!isFound))
  }, [line])
  return (
    <div class="stack stack-close" role="status">
      <div>
        <Status tone={tones[line]}>{words.lines[line]}</Status>
      </div>
      {isSilent && <p class="soft">{words.problems.noAddress}</p>}
      {line === 'failed' && problem && <p class="soft">{problem}</p>}
      {line === 'elsewhere' && (
        <div>
          <Button size="small" onClick={() => act({ act: 'register' })}>
            {words.useHere}
          </Button>
        </div>
      )}
    </div>
  )
}
