import { useState } from 'preact/hooks'
import { asApiError } from '../api/errors.ts'
import { askForPasskey, canUsePasskeys } from '../api/passkey.ts'
import { Banner } from '../parts/banner.tsx'
import { Button } from '../parts/button.tsx'
import { words } from '../words/en/sign-in.ts'

type PasskeyButtonProps = {
  /** Sends the answer of the passkey. @throws ApiError for a refusal */
  readonly onAnswer: (passkey: object) => Promise<void>
}

/** Signs in, or proves, with a passkey. Absent where this browser or address has none. */
export const PasskeyButton = ({ onAnswer }: PasskeyButtonProps) => {
  const [state, setState] = useState<{ isPending: boolean; fault?: string }>({ isPending: false })
  if (!canUsePasskeys()) return null
  const press = async () => {
    setState({ isPending: true })
    try {
      const passkey = await askForPasskey()
      if (passkey) await onAnswer(passkey)
      setState({ isPending: false })
    } catch (thrown) {
      const { status, message } = asApiError(thrown)
      setState({ isPending: false, fault: status === 401 ? words.wrongPasskey : message })
    }
  }
  return (
    <div class="stack">
      {state.fault !== undefined && (
        <Banner tone="bad" live>
          {state.fault}
        </Banner>
      )}
      <Button icon="key-round" wide busy={state.isPending} onClick={() => void press()}>
        {words.withPasskey}
      </Button>
    </div>
  )
}
