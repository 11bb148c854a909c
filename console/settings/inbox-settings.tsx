import type { ReplyOf } from '../api/client.ts'
import { useAct } from '../api/query.ts'
import { Button } from '../parts/button.tsx'
import { Form, FormActions } from '../parts/form.tsx'
import { Section } from '../parts/page.tsx'
import { NumberField, TextField } from '../parts/text-fields.tsx'
import { showToast } from '../parts/toast.tsx'
import { words } from '../words/en/settings.ts'

type Settings = ReplyOf<'GET /open/info'>['account']

type Hours = NonNullable<Settings['working_hours']>['days'][number]

const weekdays = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'] as const

const timeForm = '\\s*(?:(?:[01]?\\d|2[0-3]):[0-5]\\d|24:00)\\s*'

const rangeForm = `${timeForm}(?:-|–)${timeForm}`

/** `9:00-12:30, 13:00-17:00`. */
const hoursForm = `${rangeForm}(?:,${rangeForm}){0,2}`

const readHours = (day: Hours['day'], text: string): Hours[] =>
  [...text.matchAll(/(\d+:\d\d)\s*[-–]\s*(\d+:\d\d)/g)].map(([, from = '', until = '']) => ({
    ...{ day, from: from.padStart(5, '0'), until: until.padStart(5, '0') },
  }))

const showHours = (hours: readonly Hours[] | undefined, day: Hours['day']): string =>
  (hours ?? [])
    .filter((one) => one.day === day)
    .map(({ from, until }) => `${from}-${until}`)
    .join(', ')

/** When people of the account answer, and when answered conversations are closed. */
export const InboxSettings = ({ account }: { account: Settings }) => {
  const save = useAct('PATCH /open/account', {
    stale: ['GET /open/info'],
    after: () => showToast(words.saved),
  })
  return (
    <Section title={words.inbox} lead={words.inboxAbout}>
      <Form
        label={words.inbox}
        refusal={save.error ?? undefined}
        onSubmit={({ timezone = '', close_after_days = '', ...values }) => {
          const days = weekdays.flatMap((day) => readHours(day, values[day] ?? ''))
          const working_hours = days.length === 0 ? null : { timezone, days }
          const closeAfter = close_after_days === '' ? null : Number(close_after_days)
          if (!save.isPending) void save({ body: { working_hours, close_after_days: closeAfter } })
        }}
      >
        <NumberField
          name="close_after_days"
          label={words.closeAfter}
          hint={words.closeAfterHint}
          unit={words.days}
          initial={account.close_after_days?.toString() ?? ''}
          optional
        />
        <TextField
          name="timezone"
          label={words.timezone}
          initial={account.working_hours?.timezone ?? Intl.DateTimeFormat().resolvedOptions().timeZone}
          required
        />
        {weekdays.map((day, index) => (
          <TextField
            key={day}
            name={day}
            label={words.weekdays[day]}
            hint={index === 0 ? words.hoursHint : undefined}
            placeholder="9:00-12:30, 13:00-17:00"
            pattern={hoursForm}
            fault={words.notHours}
            initial={showHours(account.working_hours?.days, day)}
            optional
          />
        ))}
        <FormActions>
          <Button type="submit" kind="primary" busy={save.isPending}>
            {words.save}
          </Button>
        </FormActions>
      </Form>
    </Section>
  )
}
