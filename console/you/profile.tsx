import { useState } from 'preact/hooks'
import { useAct } from '../api/query.ts'
import { ownName, refreshSession, session } from '../api/session.ts'
import type { Session } from '../api/session-types.ts'
import { Banner } from '../parts/banner.tsx'
import { Button } from '../parts/button.tsx'
import { CheckboxField, RadioField, SelectField } from '../parts/choice-fields.tsx'
import { Form, FormActions } from '../parts/form.tsx'
import { Section } from '../parts/page.tsx'
import { PasswordField, TextField } from '../parts/text-fields.tsx'
import { showToast } from '../parts/toast.tsx'
import {
  chooseDensity,
  chooseSingleKeys,
  chooseTheme,
  densities,
  density,
  singleKeys,
  theme,
  themes,
} from '../shell/choices.ts'
import { Page } from '../shell/section-page.tsx'
import { words as shell } from '../words/en/shell.ts'
import { words } from '../words/en/you.ts'

type Person = NonNullable<Session['person']>

const systemZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone

const Details = ({ person }: { person: Person }) => {
  const save = useAct('PATCH /console/me', {
    after: ({ person }) => {
      if (session.value) session.value = { ...session.value, person }
      // Accounts have the name too.
      refreshSession()
      showToast(words.saved)
    },
  })
  return (
    <Section title={words.details}>
      <Form
        label={words.details}
        refusal={save.error ?? undefined}
        onSubmit={({ name = '', timezone }) => {
          if (!save.isPending) void save({ body: { name, timezone: timezone || null } })
        }}
      >
        <TextField
          name="name"
          label={words.name}
          initial={ownName.value ?? ''}
          autocomplete="name"
          maxLength={100}
          required
        />
        <TextField name="email" label={words.email} initial={person.email} readOnly />
        <SelectField
          name="timezone"
          label={words.timezone}
          hint={words.timezoneHint}
          initial={person.timezone ?? ''}
          placeholder={words.timezoneOfSystem(systemZone())}
          options={Intl.supportedValuesOf('timeZone').map((zone) => ({ value: zone, text: zone }))}
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

const Password = () => {
  const [round, setRound] = useState(0)
  const change = useAct('POST /console/me/password', {
    after: () => {
      // The fields begin again, empty.
      setRound(round + 1)
      showToast(words.changed)
    },
  })
  return (
    <Section title={words.password}>
      <Form
        key={round}
        label={words.password}
        refusal={change.error ?? undefined}
        onSubmit={({ current = '', password = '' }) => {
          if (!change.isPending) void change({ body: { current, password } })
        }}
      >
        <PasswordField name="current" label={words.current} autocomplete="current-password" required />
        <PasswordField name="password" label={words.next} hint={words.nextHint} autocomplete="new-password" required />
        <FormActions>
          <Button type="submit" busy={change.isPending}>
            {words.change}
          </Button>
        </FormActions>
      </Form>
    </Section>
  )
}

const Look = () => (
  <Section title={words.look}>
    <div class="form">
      <RadioField
        name="theme"
        label={shell.theme.title}
        look="row"
        value={theme.value}
        options={themes.map((value) => ({ value, text: shell.theme[value] }))}
        onChange={(value) => chooseTheme(themes.find((each) => each === value) ?? 'system')}
      />
      <RadioField
        name="density"
        label={shell.density.title}
        look="row"
        value={density.value}
        options={densities.map((value) => ({ value, text: shell.density[value] }))}
        onChange={(value) => chooseDensity(densities.find((each) => each === value) ?? 'comfortable')}
      />
      <CheckboxField
        name="keys"
        label={words.singleKeys}
        hint={words.singleKeysHint}
        checked={singleKeys.value}
        onChange={chooseSingleKeys}
      />
    </div>
  </Section>
)

/** The person of the session: name, time zone, look, password. */
export const ProfilePage = () => {
  const person = session.value?.person
  return (
    <Page title={words.title} width="narrow">
      {person ? <Details person={person} /> : <Banner tone="info">{words.asKey}</Banner>}
      <Look />
      {person && <Password />}
    </Page>
  )
}
