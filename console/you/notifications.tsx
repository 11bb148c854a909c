import { asApiError } from '../api/errors.ts'
import { account, may, session } from '../api/session.ts'
import {
  changeNotificationChoices,
  type NotificationChoices,
  notificationChoices,
  zone,
} from '../live/notification-choices.ts'
import { playSound } from '../live/sound.ts'
import { Banner } from '../parts/banner.tsx'
import { Button } from '../parts/button.tsx'
import { CheckboxField } from '../parts/choice-fields.tsx'
import { Section } from '../parts/page.tsx'
import { TextField } from '../parts/text-fields.tsx'
import { showToast } from '../parts/toast.tsx'
import { Page } from '../shell/section-page.tsx'
import { words } from '../words/en/notifications.ts'
import { PushBrowser } from './push-browser.tsx'
import { PushDevices } from './push-devices.tsx'

/** Stores a choice at once, as the look of the console is stored. */
const choose = (change: Partial<NotificationChoices>): void => {
  changeNotificationChoices(change).catch((error: unknown) => {
    if (asApiError(error)) showToast(words.notSaved)
  })
}

const Kinds = ({ choices }: { choices: NotificationChoices }) => (
  <Section title={words.what.title} lead={words.what.about}>
    <div class="form">
      {(['messages', 'mentions', 'calls'] as const).map((name) => (
        <CheckboxField
          key={name}
          name={name}
          label={words.what[name]}
          checked={choices[name]}
          onChange={(isOn) => choose({ [name]: isOn })}
        />
      ))}
    </div>
  </Section>
)

const Sounds = ({ choices }: { choices: NotificationChoices }) => (
  <Section title={words.sound.title} lead={words.sound.about}>
    <div class="form">
      {(['messages', 'calls'] as const).map((name) => (
        <div key={name} class="row">
          <CheckboxField
            name={`sound_${name}`}
            label={words.sound[name]}
            checked={choices[`sound_${name}`]}
            onChange={(isOn) => choose({ [`sound_${name}`]: isOn })}
          />
          <Button size="small" onClick={() => playSound(name)}>
            {words.sound.listen}
            <span class="for-readers">: {words.sound[name]}</span>
          </Button>
        </div>
      ))}
    </div>
  </Section>
)

const QuietHours = ({ choices: { quiet } }: { choices: NotificationChoices }) => {
  const change = (part: Partial<NotificationChoices['quiet']>) => choose({ quiet: { ...quiet, ...part } })
  return (
    <Section title={words.quiet.title} lead={words.quiet.about}>
      <div class="form">
        <CheckboxField
          name="quiet"
          label={words.quiet.on}
          hint={words.quiet.zone(zone())}
          checked={quiet.on}
          onChange={(on) => change({ on })}
        />
        {quiet.on && (
          <div class="row">
            {(['from', 'until'] as const).map((name) => (
              <TextField
                key={name}
                name={name}
                type="time"
                label={words.quiet[name]}
                value={quiet[name]}
                onInput={(time) => time && change({ [name]: time })}
              />
            ))}
          </div>
        )}
      </div>
    </Section>
  )
}

/** Notifications of the person: in this browser, of what, when, and in which other browsers. */
export const NotificationsPage = () => {
  const choices = notificationChoices()
  const isPerson = session.value?.person !== undefined
  const hasInbox = account.value !== null && may('inbox')
  return (
    <Page title={words.title} lead={words.about} width="narrow">
      {!isPerson ? (
        <Banner tone="info">{words.asKey}</Banner>
      ) : !hasInbox ? (
        <Banner tone="info">{words.noInbox}</Banner>
      ) : (
        <>
          <PushBrowser />
          <Kinds choices={choices} />
          <QuietHours choices={choices} />
          <Sounds choices={choices} />
          <PushDevices />
        </>
      )}
    </Page>
  )
}
