import { useState } from 'preact/hooks'
import { useAct } from '../api/query.ts'
import { session } from '../api/session.ts'
import type { Session } from '../api/session-types.ts'
import { Banner } from '../parts/banner.tsx'
import { Button } from '../parts/button.tsx'
import { Section } from '../parts/page.tsx'
import { Status } from '../parts/status.tsx'
import { words } from '../words/en/security.ts'

const { email: text } = words

/** The address of the person, and whether it is proved. */
export const EmailAddress = ({ person }: { person: NonNullable<Session['person']> }) => {
  const [sentTo, setSentTo] = useState<string>()
  const ask = useAct('POST /console/me/email-proof', { after: ({ mailed_to }) => setSentTo(mailed_to) })
  return (
    <Section title={text.title} lead={text.about}>
      <div class="stack">
        <p class="row">
          <span dir="auto">{person.email}</span>
          <Status tone={person.email_proved ? 'good' : 'notice'}>
            {person.email_proved ? text.proved : text.unproved}
          </Status>
        </p>
        {ask.error && (
          <Banner tone="bad" live>
            {ask.error.code === 'email_proved_elsewhere' ? text.elsewhere : ask.error.message}
          </Banner>
        )}
        {sentTo !== undefined && (
          <Banner tone="good" live>
            {text.sent(sentTo)}
          </Banner>
        )}
        {!person.email_proved &&
          (session.value?.installation.smtp ? (
            <p>
              <Button busy={ask.isPending} onClick={() => void ask({})}>
                {text.send}
              </Button>
            </p>
          ) : (
            <p class="soft">{text.noMail}</p>
          ))}
      </div>
    </Section>
  )
}
