import { useLocation } from 'preact-iso/router'
import type { ApiError } from '../api/errors.ts'
import { useAct, useQuery } from '../api/query.ts'
import { may } from '../api/session.ts'
import { Banner } from '../parts/banner.tsx'
import { Button, ButtonLink } from '../parts/button.tsx'
import { SelectField } from '../parts/choice-fields.tsx'
import { Form, FormActions } from '../parts/form.tsx'
import { Card, KeyValue } from '../parts/page.tsx'
import { TextField } from '../parts/text-fields.tsx'
import { showToast } from '../parts/toast.tsx'
import { Money, PhoneNumber } from '../parts/values.tsx'
import { paths } from '../paths.ts'
import { ownAmong, useUsers } from '../shell/users.ts'
import { add, compare, multiply } from '../words/decimal.ts'
import { words } from '../words/en/numbers.ts'
import * as format from '../words/format.ts'
import type { Group } from './number-state.tsx'

/** The thing that another account took: a number, or the last one of the group. */
export type TakenNumber = { readonly number: string | undefined }

type Props = {
  readonly group: Group
  readonly number: string | undefined
  readonly isHeld: boolean
  readonly onTaken: (taken: TakenNumber) => void
}

const holdMinutes = 30

const inAMonth = (): Date => {
  const date = new Date()
  date.setMonth(date.getMonth() + 1)
  return date
}

const isTaken = ({ code }: ApiError): boolean => code === 'number_unavailable' || code === 'group_sold_out'

/** The price of the purchase, and whether the balance covers it. */
const Price = ({ group: { price, total_now: total }, balance }: { group: Group; balance: string | undefined }) => {
  const { setup_price: setup, monthly_price: month } = price
  const rest = balance === undefined ? undefined : add(balance, multiply(total, -1))
  const isShort = rest !== undefined && compare(rest, '0') < 0
  return (
    <>
      <KeyValue
        facts={[
          {
            name: words.checkout.now,
            value: (
              <>
                <strong>
                  <Money amount={total} exact />
                </strong>
                {compare(setup, '0') > 0 && (
                  <div class="soft">
                    {words.checkout.nowText(format.money(setup, { exact: true }), format.money(month, { exact: true }))}
                  </div>
                )}
              </>
            ),
          },
          {
            name: words.checkout.later,
            value: words.checkout.thenText(format.money(month, { exact: true }), format.shortDay(inAMonth())),
          },
          ...(balance === undefined || rest === undefined
            ? []
            : [
                {
                  name: words.checkout.balance,
                  value: (
                    <>
                      <Money amount={balance} />
                      {!isShort && <div class="soft">{words.checkout.after(format.money(rest))}</div>}
                    </>
                  ),
                },
              ]),
        ]}
      />
      {isShort && (
        <Banner
          tone="notice"
          live
          title={words.checkout.missing(format.money(multiply(rest, -1), { exact: true }))}
          actions={may('money') && <ButtonLink href={paths.money()}>{words.checkout.ledger}</ButtonLink>}
        >
          {words.checkout.missingHint}
        </Banner>
      )}
    </>
  )
}

/** Holds or buys the chosen number. */
export const Checkout = ({ group, number, isHeld, onTaken }: Props) => {
  const { route: go } = useLocation()
  const info = useQuery('GET /open/info', { live: ['balance', 'number'] })
  const { users } = useUsers()
  const onError = (error: ApiError) => {
    info.refresh()
    if (isTaken(error)) onTaken({ number })
  }
  const stale = ['GET /open/numbers/reservations', 'GET /open/numbers/available', 'GET /open/numbers/groups'] as const
  const buy = useAct('POST /open/numbers/purchase', {
    stale: [...stale, 'GET /open/voip/virtual-numbers', 'GET /open/info'],
    onError,
  })
  const hold = useAct('POST /open/numbers/reservations', {
    stale,
    onError,
    after: () => number && showToast(words.held.held(format.phoneNumber(number))),
  })
  const needsChoice = group.allow_number_selection && number === undefined
  const submit = async ({ friendly_name, inbound_user_uuid: user }: Readonly<Record<string, string>>) => {
    if (buy.isPending || needsChoice) return
    const bought = await buy({
      body: {
        group_id: group.id,
        number,
        ...(friendly_name?.trim() ? { friendly_name: friendly_name.trim() } : {}),
        ...(user ? { inbound_user_uuid: user } : {}),
      },
    })
    const ordered = bought?.data.numbers[0]
    if (!ordered) return
    showToast(words.checkout.bought(ordered.formatted_phone_number))
    go(paths.number({ number: ordered.uuid }))
  }
  const refusal = [buy.error, hold.error].find((error) => error && !isTaken(error))
  return (
    <aside class="checkout" aria-label={words.checkout.title}>
      <Card title={words.checkout.title}>
        {number !== undefined ? (
          <p class="checkout-number">
            <PhoneNumber number={number} />
          </p>
        ) : (
          <p class="soft">{needsChoice ? words.checkout.choose : words.group.any}</p>
        )}
        <Price group={group} balance={info.data?.balance.amount} />
        <Form onSubmit={(values) => void submit(values)} refusal={refusal ?? undefined} label={words.checkout.title}>
          <TextField
            name="friendly_name"
            label={words.checkout.name}
            hint={words.one.nameHint}
            maxLength={100}
            optional
          />
          {users && (
            <SelectField
              name="inbound_user_uuid"
              label={words.checkout.rings}
              hint={words.checkout.ringsHint}
              initial={ownAmong(users)}
              options={[
                { value: '', text: words.ringsNoOne },
                ...(users ?? []).map(({ uuid, name }) => ({ value: uuid, text: name })),
              ]}
            />
          )}
          <FormActions>
            <Button
              type="submit"
              kind="primary"
              busy={buy.isPending}
              reason={needsChoice ? words.checkout.choose : undefined}
            >
              {words.checkout.buy(format.money(group.total_now, { exact: true }))}
            </Button>
            {group.allow_number_selection && !isHeld && (
              <Button
                icon="clock"
                busy={hold.isPending}
                reason={needsChoice ? words.checkout.choose : undefined}
                onClick={() => void hold({ body: { group_id: group.id, number } })}
              >
                {words.checkout.hold(holdMinutes)}
              </Button>
            )}
          </FormActions>
        </Form>
      </Card>
    </aside>
  )
}
