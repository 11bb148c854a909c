import type { ReplyOf } from '../api/client.ts'
import { useAct, useQuery } from '../api/query.ts'
import { Button, ButtonLink } from '../parts/button.tsx'
import { Countdown } from '../parts/countdown.tsx'
import { showToast } from '../parts/toast.tsx'
import { PhoneNumber } from '../parts/values.tsx'
import { paths } from '../paths.ts'
import { words } from '../words/en/numbers.ts'
import * as format from '../words/format.ts'

export type Reservation = ReplyOf<'GET /open/numbers/reservations'>['data']['reservations'][number]

/** Numbers that the account holds for a while. `isKnown`: the answer is there, or a refusal. */
export const useHeld = () => {
  const { data, error, refresh } = useQuery('GET /open/numbers/reservations', { live: ['number'], every: 60_000 })
  return { held: data?.data.reservations ?? [], isKnown: data !== undefined || error !== null, refresh }
}

const HeldNumber = ({ of: { uuid, number, expires_at, ...held }, onEnd }: { of: Reservation; onEnd: () => void }) => {
  const giveBack = useAct('DELETE /open/numbers/reservations/:reservation_uuid', {
    stale: ['GET /open/numbers/reservations', 'GET /open/numbers/available', 'GET /open/numbers/groups'],
    after: () => showToast(words.held.givenBack(format.phoneNumber(number))),
    onError: (error) => {
      showToast(error.message, 'bad')
      onEnd()
    },
  })
  const shown = format.phoneNumber(number)
  return (
    <li class="held">
      <PhoneNumber number={number} />
      <Countdown
        until={expires_at}
        label={words.held.left}
        onEnd={() => {
          showToast(words.held.ended(shown), 'notice')
          onEnd()
        }}
      />
      <span class="held-acts">
        <ButtonLink
          size="small"
          href={paths.shop({ country: held.iso_country_code, group: held.did_group_id }, { number })}
        >
          {words.held.buy}
          <span class="for-readers"> {shown}</span>
        </ButtonLink>
        <Button
          size="small"
          kind="quiet"
          busy={giveBack.isPending}
          onClick={() => void giveBack({ params: { reservation_uuid: uuid } })}
        >
          {words.held.giveBack}
          <span class="for-readers"> {shown}</span>
        </Button>
      </span>
    </li>
  )
}

/** The numbers that are held, with their clocks. Nothing while there are none. */
export const HeldNumbers = () => {
  const { held, refresh } = useHeld()
  if (held.length === 0) return null
  return (
    <section class="held-numbers" aria-label={words.held.title}>
      <h2>{words.held.title}</h2>
      <ul>
        {held.map((one) => (
          <HeldNumber key={one.uuid} of={one} onEnd={refresh} />
        ))}
      </ul>
    </section>
  )
}
