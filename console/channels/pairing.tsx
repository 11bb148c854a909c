import { useAct } from '../api/query.ts'
import { may, session } from '../api/session.ts'
import { Button } from '../parts/button.tsx'
import { Countdown } from '../parts/countdown.tsx'
import { Card } from '../parts/page.tsx'
import { Qr } from '../parts/qr.tsx'
import { showToast } from '../parts/toast.tsx'
import { Copy } from '../parts/values.tsx'
import { words } from '../words/en/channels.ts'
import type { ChannelStatus } from './state.tsx'

type PairingProps = { readonly channel: string; readonly status: ChannelStatus; readonly onRefresh: () => void }

/** The code that connects a phone. The page reads the status again and again, so the code is always the present one. */
export const Pairing = ({ channel, status: { qr_code, pairing_code, expires_at }, onRefresh }: PairingProps) => {
  const scan = useAct('POST /sandbox/channels/:channel_uuid/pair', {
    after: onRefresh,
    onError: ({ message }) => showToast(message, 'bad'),
  })
  const isSandbox = session.value?.installation.sandbox === true && may('develop')
  return (
    <Card title={words.pairing.title}>
      <div class="pairing">
        {qr_code && <Qr text={qr_code} label={words.pairing.qr} />}
        <div class="stack">
          <p>{qr_code || pairing_code ? words.pairing.how : words.pairing.preparing}</p>
          {pairing_code && (
            <p class="stack stack-close">
              <span class="soft">{words.pairing.code}</span>
              <Copy value={pairing_code} what={words.pairing.code} />
            </p>
          )}
          {expires_at && (
            <p>
              <Countdown key={expires_at} until={expires_at} label={words.pairing.until} onEnd={onRefresh} />
            </p>
          )}
          <p class="soft">{words.pairing.renew}</p>
          {isSandbox && qr_code && (
            <div class="stack stack-close">
              <span class="soft">{words.pairing.sandboxHint}</span>
              <span>
                <Button
                  kind="primary"
                  icon="smartphone"
                  busy={scan.isPending}
                  onClick={() => void scan({ params: { channel_uuid: channel } })}
                >
                  {words.pairing.sandbox}
                </Button>
              </span>
            </div>
          )}
        </div>
      </div>
    </Card>
  )
}
