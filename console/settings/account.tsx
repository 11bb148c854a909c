import type { ReplyOf } from '../api/client.ts'
import { useAct, useQuery } from '../api/query.ts'
import { session } from '../api/session.ts'
import { Banner } from '../parts/banner.tsx'
import { Button } from '../parts/button.tsx'
import { CheckboxField } from '../parts/choice-fields.tsx'
import { Form, FormActions } from '../parts/form.tsx'
import { KeyValue, Section } from '../parts/page.tsx'
import { ErrorState, Skeleton } from '../parts/page-states.tsx'
import { Table } from '../parts/table.tsx'
import { MoneyField, TextField } from '../parts/text-fields.tsx'
import { showToast } from '../parts/toast.tsx'
import { Copy, Moment } from '../parts/values.tsx'
import { Page } from '../shell/section-page.tsx'
import { words } from '../words/en/settings.ts'
import { bytes, number as count } from '../words/format.ts'
import { InboxSettings } from './inbox-settings.tsx'

type Info = ReplyOf<'GET /open/info'>

/** Shows the new name in the frame at once. */
const rename = (uuid: string, name: string): void => {
  if (session.value)
    session.value = {
      ...session.value,
      accounts: session.value.accounts.map((each) => (each.uuid === uuid ? { ...each, name } : each)),
    }
}

const Details = ({ info }: { info: Info }) => {
  const save = useAct('PATCH /open/account', {
    stale: ['GET /open/info'],
    after: ({ account }) => {
      rename(account.uuid, account.name)
      showToast(words.saved)
    },
  })
  return (
    <Section title={words.details}>
      <Form
        label={words.details}
        refusal={save.error ?? undefined}
        onSubmit={({ name = '', low_balance = '', ...switches }) => {
          const body = {
            name,
            low_balance: low_balance || null,
            agents_see_log: switches.agents_see_log === 'true',
            agents_see_all: switches.agents_see_all === 'true',
            second_factor_required: switches.second_factor_required === 'true',
            notification_names: switches.notification_names === 'true',
          }
          if (!save.isPending) void save({ body })
        }}
      >
        <TextField
          name="name"
          label={words.name}
          hint={words.nameHint}
          initial={info.account.name}
          maxLength={200}
          required
        />
        <MoneyField
          name="low_balance"
          label={words.lowBalance}
          hint={words.lowBalanceHint}
          initial={info.balance.low_balance ?? ''}
          optional
        />
        <CheckboxField
          name="agents_see_log"
          label={words.agentsSeeLog}
          hint={words.agentsSeeLogHint}
          initial={info.account.agents_see_log}
        />
        <CheckboxField
          name="agents_see_all"
          label={words.agentsSeeAll}
          hint={words.agentsSeeAllHint}
          initial={info.account.agents_see_all}
        />
        <CheckboxField
          name="second_factor_required"
          label={words.factor}
          hint={session.value?.installation.passkeys ? words.factorHint : words.factorHintApp}
          initial={info.account.second_factor_required}
        />
        <CheckboxField
          name="notification_names"
          label={words.notificationNames}
          hint={words.notificationNamesHint}
          initial={info.account.notification_names}
        />
        <FormActions>
          <Button type="submit" kind="primary" busy={save.isPending}>
            {words.save}
          </Button>
        </FormActions>
      </Form>
    </Section>
  )
}

const Facts = ({ info: { account } }: { info: Info }) => (
  <KeyValue
    facts={[
      { name: words.id, value: <Copy value={account.uuid} what={words.id} /> },
      { name: words.created, value: <Moment time={account.created_at} show="day" /> },
      { name: words.kind, value: account.on_trial ? words.trial : words.full },
      ...(account.expires_at ? [{ name: words.expires, value: <Moment time={account.expires_at} /> }] : []),
    ]}
  />
)

type Use = { readonly name: keyof typeof words.uses; readonly used: string; readonly most: string }

/** Limits of the interface without a quota: those of calls and checks, and all others. */
const unlimited = { calls: 2_147_483_647, things: 1_000_000_000_000 }

const most = (limit: number, show: (value: number) => string = (value) => count(value)): string =>
  limit >= unlimited.things ? words.noLimit : show(limit)

const mostCalls = (limit: number): string => (limit === unlimited.calls ? words.noLimit : most(limit))

const usesOf = ({ usage, limits }: Info): Use[] => [
  ...(['members', 'webhooks', 'channels', 'contacts', 'reservations'] as const).map((name) => ({
    name,
    used: count(usage[name]),
    most: most(limits[name]),
  })),
  { name: 'stored_bytes', used: bytes(usage.stored_bytes), most: most(limits.stored_bytes, bytes) },
  { name: 'requests', used: count(usage.api_request_count), most: mostCalls(usage.max_api_request_count) },
  { name: 'checks', used: count(usage.number_check_count), most: mostCalls(usage.max_number_check_count) },
]

/** Name, warning and limits of the account. */
export const AccountPage = () => {
  const info = useQuery('GET /open/info', {})
  return (
    <Page title={words.title} lead={words.about} width="narrow">
      {info.data ? (
        <>
          {info.data.account.blocked && (
            <Banner tone="bad" title={words.blocked}>
              {info.data.account.block_reason}
            </Banner>
          )}
          <Facts info={info.data} />
          <Details info={info.data} />
          <InboxSettings account={info.data.account} />
          <Section title={words.limits} lead={words.limitsAbout}>
            <Table
              label={words.limitsCaption}
              rows={usesOf(info.data)}
              rowKey={({ name }) => name}
              columns={[
                { key: 'what', title: words.what, cell: ({ name }) => words.uses[name] },
                { key: 'used', title: words.used, align: 'end', cell: ({ used }) => used },
                { key: 'most', title: words.most, align: 'end', cell: ({ most }) => most },
              ]}
              empty={null}
            />
          </Section>
        </>
      ) : info.error ? (
        <ErrorState refusal={info.error} onRetry={info.refresh} />
      ) : (
        <Skeleton rows={6} />
      )}
    </Page>
  )
}
