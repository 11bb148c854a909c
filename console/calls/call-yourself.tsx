import { useState } from 'preact/hooks'
import { useAct, useQuery } from '../api/query.ts'
import { account } from '../api/session.ts'
import { Banner } from '../parts/banner.tsx'
import { Button, ButtonLink } from '../parts/button.tsx'
import { Card } from '../parts/page.tsx'
import { paths } from '../paths.ts'
import { phone, phoneBarrier } from '../shell/phone.ts'
import { words } from '../words/en/applications.ts'

/** Calls the telephone of the browser, and runs the application in the call: so a person hears it. */
export const CallYourself = ({ application }: { readonly application: string }) => {
  const [call, setCall] = useState<string>()
  const barrier = phoneBarrier()
  const callerIds = useQuery('GET /open/voip/caller-ids', {
    query: { results_per_page: 200 },
    enabled: barrier === null,
  })
  const from = callerIds.data?.caller_ids.find(({ verified }) => verified)?.phone_number
  const ring = useAct('POST /open/voip/calls', {
    stale: ['GET /open/voip/call-history'],
    after: ({ cdr }) => setCall(cdr.uuid),
  })
  const { line, calls, ended } = phone.value
  const isAccepted = ended !== null || calls.some(({ state }) => state === 'active')
  const reason = barrier
    ? words.hear.barriers[barrier]
    : callerIds.data && !from
      ? words.hear.noNumber
      : line === 'ready' || line === 'elsewhere'
        ? undefined
        : words.hear.noLine
  const act = () => {
    const to = account.value?.user_uuid
    if (from && to) void ring({ body: { from_number: from, to, application_uuid: application } })
  }
  return (
    <Card title={words.hear.title}>
      <div class="stack">
        <p class="soft">{words.hear.about}</p>
        {ring.error && <Banner tone="bad">{ring.error.message}</Banner>}
        <div class="row">
          <Button kind="primary" icon="phone" reason={reason} busy={ring.isPending} onClick={act}>
            {call ? words.hear.again : words.hear.act}
          </Button>
          {call && <ButtonLink href={paths.call({ call })}>{words.hear.story}</ButtonLink>}
        </div>
        <p role="status">{call && !ring.error && !isAccepted ? words.hear.rings : ''}</p>
      </div>
    </Card>
  )
}
